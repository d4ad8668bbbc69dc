package toolchain

import (
	"fmt"
	"strings"
	"time"
)

// pulumiSDK is the module that the program and the engine both use.
const pulumiSDK = "github.com/pulumi/pulumi/sdk/v3"

// spec describes a tool and how to get it.
type spec struct {
	name string
	kind Kind

	// sdk is the Go SDK whose version in the root go.mod is the version of the tool. Empty for the lab's tools: they have the
	// version of upstream.
	sdk string
	// server is the server from which `pulumi plugin install` downloads the official plugin. Empty if the plugin is among Pulumi's
	// own releases. The SDKs name their server in pulumi-plugin.json.
	server string

	// onRequest is true for a tool that is installed only if Options.Names includes it.
	onRequest bool

	// module is the folder in the checkout whose go.mod the build uses; main is the package that it builds.
	module string
	main   string
	// modFile is the file in module that the build uses instead of go.mod. Its checksums are in the file beside it (go help build,
	// -modfile). Empty for go.mod.
	modFile string
	// sources are the files and folders under module that the build reads. Tests in them are ignored.
	sources []string
	// versionVar is the variable that the linker sets to the version. versionPrefix precedes the number.
	versionVar    string
	versionPrefix string
	// upstream is the Go module with the code. Empty for a stand-in, whose code is our own.
	upstream string

	// cold is the time of the first build on two cores. The sizes are the disk space of that build. Both are in addition to the
	// earlier tools in the catalogue.
	cold                         time.Duration
	moduleCache, buildCache, bin int64
}

// controlPlane is the control plane that every lab has. For another minor release of Kubernetes, a hyphen and its number follow.
const controlPlane = "controlplane"

const mebibyte = 1 << 20

// catalogue returns the tools in the order of their installation. The CLI is first, because it installs official plugins.
//
// The times were measured with empty Go caches on 2 cores and 24 GiB with Go 1.26.8. The times of the lab's tools are half the CPU
// time of a build after all others. The sizes are those of the downloaded and unpacked modules, of the compiled packages (go list
// -export -deps) and of the stripped binary, on linux/amd64.
func catalogue() []spec {
	return []spec{
		{
			name: "pulumi", kind: CLI, sdk: pulumiSDK,
			module: "tools/cli", main: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
			sources:    []string{"go.mod", "go.sum"},
			versionVar: "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version", versionPrefix: "v",
			upstream: "github.com/pulumi/pulumi/pkg/v3",
			cold:     330 * time.Second, moduleCache: 1320 * mebibyte, buildCache: 1550 * mebibyte, bin: 110 * mebibyte,
		},
		{
			name: "proxmoxve", kind: Plugin, sdk: "github.com/muhlba91/pulumi-proxmoxve/sdk/v6",
			server: "github://api.github.com/muhlba91/pulumi-proxmoxve",
			module: "tools", main: "./bridge/proxmoxve/plugin",
			sources:    []string{"go.mod", "go.sum", "bridge/packageschema", "bridge/proxmoxve"},
			versionVar: "main.version", upstream: "github.com/bpg/terraform-provider-proxmox",
			cold: 110 * time.Second, moduleCache: 1490 * mebibyte, buildCache: 780 * mebibyte, bin: 70 * mebibyte,
		},
		{
			name: "talos", kind: Plugin, sdk: "github.com/pulumiverse/pulumi-talos/sdk",
			server: "github://api.github.com/pulumiverse",
			module: "tools", main: "./bridge/talos/plugin",
			sources:    []string{"go.mod", "go.sum", "bridge/packageschema", "bridge/talos"},
			versionVar: "main.version", upstream: "github.com/siderolabs/terraform-provider-talos",
			cold: 85 * time.Second, moduleCache: 210 * mebibyte, buildCache: 640 * mebibyte, bin: 110 * mebibyte,
		},
		{
			name: "command", kind: Plugin, sdk: "github.com/pulumi/pulumi-command/sdk",
			module: "tools", main: "./standin/command/plugin",
			sources:    []string{"go.mod", "go.sum", "standin/command"},
			versionVar: "main.version",
			cold:       10 * time.Second, moduleCache: 5 * mebibyte, buildCache: 20 * mebibyte, bin: 30 * mebibyte,
		},
		{
			name: "kubernetes", kind: Plugin, sdk: "github.com/pulumi/pulumi-kubernetes/sdk/v4",
			module: "tools/standin/kubernetes", main: "./plugin",
			sources: []string{
				"go.mod", "go.sum", "cluster", "difference", "object", "operation", "plugin", "properties", "provider", "release",
			},
			versionVar: "main.version",
			cold:       90 * time.Second, moduleCache: 350 * mebibyte, buildCache: 740 * mebibyte, bin: 63 * mebibyte,
		},
		{
			name: "language-go", kind: LanguageHost, sdk: pulumiSDK,
			module: "tools/standin/language", main: "./plugin",
			sources:    []string{"go.mod", "go.sum", "host", "plugin"},
			versionVar: "main.version", versionPrefix: "v",
			cold: 5 * time.Second, moduleCache: 5 * mebibyte, buildCache: 20 * mebibyte, bin: 20 * mebibyte,
		},
		{
			name: controlPlane, kind: Lab,
			module: "tools/controlplane", main: ".",
			sources:    []string{"go.mod", "go.sum", "main.go"},
			versionVar: "k8s.io/component-base/version.gitVersion", versionPrefix: "v",
			upstream: "k8s.io/kubernetes",
			cold:     205 * time.Second, moduleCache: 460 * mebibyte, buildCache: 790 * mebibyte, bin: 117 * mebibyte,
		},
		{
			name: controlPlane + "-1.36", kind: Lab, onRequest: true,
			module: "tools/controlplane", main: ".", modFile: "kubernetes-1.36.mod",
			sources:    []string{"kubernetes-1.36.mod", "kubernetes-1.36.sum", "main.go"},
			versionVar: "k8s.io/component-base/version.gitVersion", versionPrefix: "v",
			upstream: "k8s.io/kubernetes",
			cold:     275 * time.Second, moduleCache: 460 * mebibyte, buildCache: 790 * mebibyte, bin: 117 * mebibyte,
		},
		{
			name: "kwok", kind: Lab,
			module: "tools/kwok", main: ".",
			sources:    []string{"go.mod", "go.sum", "main.go", "stages.go", "stages.yaml"},
			versionVar: "sigs.k8s.io/kwok/pkg/consts.Version",
			upstream:   "sigs.k8s.io/kwok",
			cold:       55 * time.Second, moduleCache: 240 * mebibyte, buildCache: 545 * mebibyte, bin: 54 * mebibyte,
		},
	}
}

// OnRequest returns the tools that are installed only if they are named: the control planes of other minor releases of Kubernetes
// than that of every lab.
func OnRequest() []string {
	var names []string
	for _, s := range catalogue() {
		if s.onRequest {
			names = append(names, s.name)
		}
	}
	return names
}

// ControlPlane returns the name of the tool with the control plane of a minor release of Kubernetes, such as 1.36. Such tools are
// installed on request. The error lists the available releases.
func ControlPlane(minor string) (string, error) {
	var known []string
	for _, name := range OnRequest() {
		number, _ := strings.CutPrefix(name, controlPlane+"-")
		if number == minor {
			return name, nil
		}
		known = append(known, number)
	}
	return "", fmt.Errorf("the control plane of Kubernetes %q cannot be built: choose %s", minor, strings.Join(known, ", "))
}

// origin returns the origin of a tool that is not official.
func (s spec) origin() Origin {
	if s.upstream == "" {
		return StandIn
	}
	return Built
}
