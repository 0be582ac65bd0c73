# SPDX-License-Identifier: Apache-2.0
# Twenty tasks of a stranger: each names its page and has the commands of that page. "# adapted" marks a command with
# other names, addresses or durations than on the page, "# ours" a line of the test. long-stranger.test.ts runs the tasks
# that need no hardware, no root and no network, and checks that the other commands are on their page.

## 1 install: README.md, by hand
git clone ADDRESS-OF-THIS-REPOSITORY depthwatt
cd depthwatt
npm ci && npm start

## 2 demo: docs/start/README.md
npx depthwatt run --set http.port=auto > demo.log 2>&1 & # adapted
echo $! > demo.pid # ours
until grep -q ^page demo.log; do sleep 0.1; done # ours
node -e "fetch('$(awk '/^page/ {print $2}' demo.log)').then(async (page) => console.log((await page.text()).match(/<title>.*/)[0]))" # ours
npx depthwatt consume $(awk '/^consume/ {print $5}' demo.log) --frames 10 # adapted

## 3 Python: docs/guides/readers.md
echo "import sys; sys.path.insert(0, '$PROJECT/clients/python')" > reader.py # ours
sed -n '/^from depthwatt import/,/^```/p' $PROJECT/docs/guides/readers.md | grep -v '```' >> reader.py # ours
echo "    break" >> reader.py # ours
sed -i "s|mqtt://127.0.0.1:1883|$(awk '/^consume/ {print $5}' demo.log)|" reader.py # ours
$PYTHON reader.py # ours

## 4 view a broker: docs/guides/live-page.md
depthwatt view $(awk '/^consume/ {print $5}' demo.log) --port auto > view.log 2>&1 & # adapted
echo $! > view.pid # ours
until grep -q ^page view.log; do sleep 0.1; done # ours
node -e "fetch('$(awk '/^page/ {print $2}' view.log)').then(async (page) => console.log((await page.text()).match(/<title>.*/)[0]))" # ours
kill $(cat view.pid) # ours
kill $(cat demo.pid) # ours

## 5 doctor: docs/start/README.md
npx depthwatt doctor

## 6 own images: docs/start/README.md
npx depthwatt scene --frames 10 --out .
cp left/000000.png left.png # ours
cp right/000000.png right.png # ours
npx depthwatt match left.png right.png --num-disparities 128 -o disparity.pfm --color disparity.png
npx depthwatt run --source replay --left left/ --right right/ --calibration calibration.json

## 7 calibrate: docs/guides/calibration.md, by hand
depthwatt calibrate --left stills/left --right stills/right --square 25mm --report report.html

## 8 Node library: docs/start/library.md
mkdir -p node_modules # ours
ln -s $PROJECT node_modules/depthwatt # ours
sed -n '/^import { match } from/,/^```/p' $PROJECT/docs/start/library.md | sed '/```/,$d' > match.mjs # ours
node match.mjs # ours

## 9 service, dry run: docs/start/service.md, by hand
sudo npm install --global depthwatt-0.1.0.tgz
sudo depthwatt install-service --dry-run

## 10 record and replay: docs/guides/recordings.md
depthwatt record walk.mcap --source replay --left left --right right --calibration calibration.json --inputs # adapted
depthwatt run --source walk.mcap
depthwatt convert walk.mcap walk
ls walk/depth | wc -l # ours

## 11 change a setting of a running device: docs/guides/control.md
(umask 077; openssl rand -hex 32 > control.secret) # adapted
printf 'device: robot-1\ncontrol:\n  enabled: true\n  secretFile: control.secret\n' > depthwatt.yaml # adapted
depthwatt run --config depthwatt.yaml --set http.port=auto > control.log 2>&1 & # ours
echo $! > control.pid # ours
until grep -q ^consume control.log; do sleep 0.1; done # ours
address=$(awk '/^consume/ {print $5}' control.log) # ours
depthwatt get match.numDisparities --broker $address --device robot-1 --secret-file control.secret # adapted
depthwatt set match.algorithm=cbca refine.median=false --broker $address --device robot-1 --secret-file control.secret # adapted
kill $(cat control.pid) # ours

## 12 profile joules: docs/guides/measuring.md, by hand
sudo depthwatt profile --modes all --sizes 640x480,1280x720 -o out/orin

## 13 eval: docs/reference/commands.md
depthwatt scene --frames 2 --width 320 --height 240 --out scene # adapted
depthwatt eval scene

## 14 point cloud: docs/guides/points.md
depthwatt match left.png right.png --calibration calibration.json -o cloud.ply
head -c 200 cloud.ply | grep -a "element vertex" # ours

## 15 ROS: docs/guides/ros.md
depthwatt run --broker embedded --set outputs.ros.enabled=true --set http.port=auto --frames 10 --json > ros.json # adapted
node -e "const { ros } = JSON.parse(require('fs').readFileSync('ros.json')).outputs; console.log(ros.sent > 0 ? 'ROS messages were sent' : ros)" # ours

## 16 Home Assistant: docs/guides/home-assistant.md
depthwatt run --broker embedded --set outputs.homeAssistant.enabled=true --set http.port=auto --frames 10 --json > home.json # adapted
node -e "console.log(JSON.parse(require('fs').readFileSync('home.json')).outputs.homeAssistant)" # ours

## 17 configuration file: docs/reference/commands.md
rm depthwatt.yaml # ours
depthwatt config --init depthwatt.yaml
depthwatt run --config depthwatt.yaml --set http.port=auto --broker none --frames 3 # adapted

## 18 recover from a mistake: docs/start/library.md
depthwatt run --set match.numDisparites=64 || echo "exit code $?" # adapted
depthwatt run --set match.numDisparities=64 --set http.port=auto --broker none --frames 3 # adapted

## 19 completion in fish: docs/reference/commands.md
mkdir -p ~/.config/fish/completions # ours
depthwatt completion fish > ~/.config/fish/completions/depthwatt.fish
grep -c depthwatt ~/.config/fish/completions/depthwatt.fish # ours

## 20 uninstall: docs/start/service.md, by hand
sudo depthwatt uninstall-service
