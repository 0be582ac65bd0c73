{
  # At the root, so that the object tree mirrors the source tree.
  # clang refuses what only tunes g++.
  "variables": { "with_clang%": "<!(${CXX:-g++} --version | head -n 1 | grep -c clang || true)" },
  "targets": [
    {
      "target_name": "depthwatt",
      "dependencies": ["<!(node -p \"require('node-addon-api').targets\"):node_addon_api_except"],
      "defines": ["NAPI_VERSION=8"],
      "include_dirs": ["."],
      "sources": [
        "<!@(node scripts/native-sources.mjs)"
      ],
      "cflags_cc!": ["-std=gnu++17", "-std=gnu++14", "-std=gnu++20", "-O3", "-fno-rtti"],
      "cflags_cc": [
        "-std=c++17", "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-fvisibility=hidden",
        # One IEEE operation is one operation, on every CPU: the same bits everywhere.
        "-ffp-contract=off"
      ],
      # Stays mapped when the thread that loaded it ends: libuv still calls what closes its handles after Node unloads it.
      "ldflags": ["-Wl,-z,nodelete"],
      "libraries": ["-ldl", "-pthread"],
      "conditions": [
        ["with_clang==0", { "cflags_cc": [
          # These keep more addresses alive in the matcher's loop than there are registers: without them it is 7 % faster.
          "-fno-tree-pre", "-fno-gcse", "-fno-ivopts", "-fno-tree-slsr",
          # The matchers' bodies are long and without branches: these find nothing in them and take a quarter of the build.
          "-fno-tree-vrp", "-fno-tree-dominator-opts", "-fno-tree-pta", "--param=sccvn-max-alias-queries-per-access=64"
        ] }],
        ["target_arch=='x64'", { "cflags_cc": ["-msse2"] }]
      ]
    }
  ]
}
