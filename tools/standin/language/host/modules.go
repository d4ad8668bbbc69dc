package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"golang.org/x/mod/modfile"
)

// GetRequiredPackages returns the providers whose SDKs the program's go.mod requires: those modules that have a pulumi-plugin.json.
// Unlike the official host it downloads no module. A module that is not in Go's cache is in no program either.
func (h *Host) GetRequiredPackages(ctx context.Context, request *pulumirpc.GetRequiredPackagesRequest) (*pulumirpc.GetRequiredPackagesResponse, error) {
	dir := request.GetInfo().GetProgramDirectory()
	parsed, err := readModule(ctx, dir)
	if err != nil {
		return nil, err
	}
	modules, err := listModules(ctx, dir, parsed)
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GetRequiredPackagesResponse{}
	for _, m := range modules {
		dependency, err := m.dependency()
		if err != nil {
			return nil, err
		}
		if dependency != nil {
			response.Packages = append(response.Packages, dependency)
		}
	}
	return response, nil
}

// GetProgramDependencies returns the modules that go.mod requires. A module that is replaced by a folder has no version.
func (h *Host) GetProgramDependencies(ctx context.Context, request *pulumirpc.GetProgramDependenciesRequest) (*pulumirpc.GetProgramDependenciesResponse, error) {
	parsed, err := readModule(ctx, request.GetInfo().GetProgramDirectory())
	if err != nil {
		return nil, err
	}
	replaced := map[string]bool{}
	for _, replacement := range parsed.Replace {
		replaced[replacement.Old.Path] = true
	}
	response := &pulumirpc.GetProgramDependenciesResponse{}
	for _, required := range parsed.Require {
		if required.Indirect && !request.GetTransitiveDependencies() {
			continue
		}
		dependency := &pulumirpc.DependencyInfo{Name: required.Mod.Path, Version: required.Mod.Version}
		if replaced[required.Mod.Path] {
			dependency.Version = ""
		}
		response.Dependencies = append(response.Dependencies, dependency)
	}
	return response, nil
}

// readModule reads the go.mod of the module that contains a folder.
func readModule(ctx context.Context, dir string) (*modfile.File, error) {
	path, err := goOutput(ctx, dir, "list", "-m", "-f", "{{.GoMod}}")
	if err != nil {
		return nil, err
	}
	path = strings.TrimSpace(path)
	if path == "" {
		return nil, fmt.Errorf("%s lies in no Go module: run `go mod init` there", dir)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(path, text, nil)
}

// module is a module in the output of `go list -m -json`.
type module struct{ Path, Version, Dir string }

// listModules returns the required modules in the order of go.mod.
func listModules(ctx context.Context, dir string, parsed *modfile.File) ([]module, error) {
	if len(parsed.Require) == 0 {
		return nil, nil
	}
	args := []string{"list", "-m", "-json"}
	for _, required := range parsed.Require {
		args = append(args, required.Mod.Path)
	}
	output, err := goOutput(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	var modules []module
	for decoder := json.NewDecoder(strings.NewReader(output)); ; {
		var m module
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			return modules, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the output of go list: %w", err)
		}
		modules = append(modules, m)
	}
}

// dependency returns the provider whose SDK the module is; nil for any other module.
func (m module) dependency() (*pulumirpc.PackageDependency, error) {
	if m.Dir == "" {
		return nil, nil
	}
	about, err := m.readPlugin()
	if about == nil || !about.Resource {
		return nil, err
	}
	dependency := &pulumirpc.PackageDependency{Kind: "resource", Name: about.Name, Version: about.Version, Server: about.Server}
	if dependency.Version == "" {
		dependency.Version = m.Version
	}
	if dependency.Name == "" {
		return nil, fmt.Errorf("the pulumi-plugin.json of %s names no provider", m.Path)
	}
	if about.Parameterization != nil || about.ExtensionParameterization != nil {
		return nil, fmt.Errorf("%s is the SDK of a parameterized provider, which this stand-in does not know", m.Path)
	}
	return dependency, nil
}

// readPlugin returns the first pulumi-plugin.json in the places where SDKs keep it; nil for none.
func (m module) readPlugin() (*plugin.PulumiPluginJSON, error) {
	for _, pattern := range []string{".", "go", "go/*", "*"} {
		paths, err := filepath.Glob(filepath.Join(m.Dir, pattern, "pulumi-plugin.json"))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			about, err := plugin.LoadPulumiPluginJSON(path)
			if !errors.Is(err, fs.ErrNotExist) {
				return about, err
			}
		}
	}
	return nil, nil
}
