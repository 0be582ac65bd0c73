// SPDX-License-Identifier: Apache-2.0
// Finds, opens and checks the CUDA plugin; see plugin.h.
#include "plugin.h"

#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "plugin_abi.h"

namespace depthwatt {
namespace {

constexpr const char* kLibrary = "libdepthwatt_cuda.so";

/// Returns the plugin's path: in the addon's folder unless DEPTHWATT_CUDA_PLUGIN names another file.
std::string pluginPath() {
  const char* named = std::getenv("DEPTHWATT_CUDA_PLUGIN");
  if (named != nullptr && *named != '\0') return named;
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&probeCudaPlugin), &self) == 0 || self.dli_fname == nullptr) return kLibrary;
  const std::string addon = self.dli_fname;
  return addon.substr(0, addon.rfind('/') + 1) + kLibrary;
}

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
constexpr unsigned kMachine = EM_NONE;
#endif

std::string machineName(unsigned bits, unsigned machine) {
  if (machine == EM_X86_64 && bits == 64) return "x86-64";
  if (machine == EM_AARCH64 && bits == 64) return "AArch64";
  return "ELF machine " + std::to_string(machine) + " of " + std::to_string(bits) + " bits";
}

/// Checks the architecture of the file before dlopen, whose message for a foreign library is "No such file or
/// directory" or worse. Files that are not ELF, or not readable, are left to dlopen.
Status checkMachine(const std::string& path) {
  unsigned char header[20];  // e_ident, e_type, e_machine
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return {};
  const bool whole = std::fread(header, sizeof header, 1, file) == 1;
  std::fclose(file);
  if (!whole || std::string(header, header + SELFMAG) != ELFMAG || kMachine == EM_NONE) return {};
  const bool littleEndian = header[EI_DATA] == ELFDATA2LSB;
  const unsigned machine = littleEndian ? header[18] | header[19] << 8 : header[18] << 8 | header[19];
  const unsigned bits = header[EI_CLASS] == ELFCLASS64 ? 64 : 32;
  if (littleEndian && bits == 64 && machine == kMachine) return {};
  return Status::error(Code::kBackendUnavailable,
                       "CUDA unavailable: the plugin %.120s is built for %s, this program for %s. Install or build the "
                       "one for this machine.",
                       path.c_str(), machineName(bits, machine).c_str(), machineName(64, kMachine).c_str());
}

Status load(const PluginTable** table) {
  const std::string path = pluginPath();
  if (access(path.c_str(), F_OK) != 0) {
    const char* named = std::getenv("DEPTHWATT_CUDA_PLUGIN");
    if (named != nullptr && *named != '\0') {
      return Status::error(Code::kBackendUnavailable,
                           "CUDA unavailable: DEPTHWATT_CUDA_PLUGIN names %.140s, which is not there.", path.c_str());
    }
    return Status::error(Code::kBackendUnavailable,
                         "CUDA unavailable: the plugin %s is not built ('npm run build:cuda' builds it with nvcc).",
                         path.substr(path.rfind('/') + 1).c_str());
  }
  Status fits = checkMachine(path);
  if (!fits.ok()) return fits;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Status::error(Code::kBackendUnavailable, "CUDA unavailable: the plugin does not load (%.180s).",
                         reason == nullptr ? path.c_str() : reason);
  }
  const auto entry = reinterpret_cast<PluginEntry>(dlsym(library, kPluginSymbol));
  if (entry == nullptr) {
    dlclose(library);
    return Status::error(Code::kBackendUnavailable, "CUDA unavailable: %.160s is not a depthwatt plugin.",
                         path.c_str());
  }
  const PluginTable* found = entry();
  if (found->abiVersion != kPluginAbiVersion) {
    const uint32_t version = found->abiVersion;
    dlclose(library);
    return Status::error(Code::kBackendUnavailable,
                         "CUDA unavailable: the plugin speaks ABI version %u, this addon %u; build both from one tree.",
                         version, kPluginAbiVersion);
  }
  *table = found;  // stays open for the life of the process
  return {};
}

}  // namespace

Status probeCudaPlugin() {
  const PluginTable* table = nullptr;
  Status status = load(&table);
  return status.ok() ? table->probe() : status;
}

Status openCudaBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend) {
  const PluginTable* table = nullptr;
  Status status = load(&table);
  if (status.ok()) status = table->probe();
  return status.ok() ? table->open(parameters, backend) : status;
}

}  // namespace depthwatt
