{
  "targets": [
    {
      "target_name": "v4l2_camera",
      "dependencies": ["<!(node -p \"require('node-addon-api').targets\"):node_addon_api_except"],
      "defines": ["NAPI_VERSION=8"],
      "include_dirs": ["native"],
      "sources": ["native/addon.cc", "<!@(node build.mjs --sources)"],
      "cflags_cc!": ["-std=gnu++17", "-std=gnu++14", "-std=gnu++20", "-O3", "-fno-rtti"],
      "cflags_cc": [
        "-std=c++17", "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-fvisibility=hidden"
      ],
      # Stays mapped when the thread that loaded it ends: libuv still calls what closes its handles after Node unloads it.
      "ldflags": ["-Wl,-z,nodelete"],
      "libraries": ["-ldl", "-pthread"]
    }
  ]
}
