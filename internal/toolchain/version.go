package toolchain

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// versions contains the versions of modules, by their paths.
type versions struct {
	linked map[string]string // of the running program
	root   map[string]string // of the checkout's go.mod
	source string
}

// readVersions reads the build information of the running program and the go.mod of the checkout. The build information has
// precedence, because the linked SDK requests a plugin of its own version from the engine. A program that links no SDK has only the
// go.mod. A program without a checkout has only the build information.
func readVersions(source string, linked map[string]string) (versions, error) {
	var root map[string]string
	if source != "" {
		var err error
		if root, err = requirements(filepath.Join(source, "go.mod")); err != nil {
			return versions{}, err
		}
	}
	return versions{linked: linked, root: root, source: source}, nil
}

// linked returns the versions of the modules in the build information of this program.
func linked() map[string]string {
	found := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Replace != nil {
				module = module.Replace
			}
			found[module.Path] = module.Version
		}
	}
	return found
}

// sdk returns the version of an SDK, with the leading v.
func (v versions) sdk(module string) (string, error) {
	for _, known := range []map[string]string{v.linked, v.root} {
		if version := known[module]; semver.IsValid(version) {
			return version, nil
		}
	}
	if v.source == "" {
		return "", fmt.Errorf("this program links no %s, so the version of its plugin is not known: run it in a clone of em-infra", module)
	}
	return "", fmt.Errorf("%s requires no %s, so the version of its plugin is not known", v.source, module)
}

// upstream returns the version of a module in one of the tools' go.mod files.
func (v versions) upstream(modFile, module string) (string, error) {
	path := filepath.Join(v.source, modFile)
	required, err := requirements(path)
	if err != nil {
		return "", err
	}
	version, ok := required[module]
	if !ok {
		return "", fmt.Errorf("%s requires no %s, which the build needs", path, module)
	}
	return version, nil
}

func requirements(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	parsed, err := modfile.ParseLax(path, text, nil)
	if err != nil {
		return nil, err
	}
	required := map[string]string{}
	for _, r := range parsed.Require {
		required[r.Mod.Path] = r.Mod.Version
	}
	return required, nil
}

// fits reports whether a CLI can run a program with that SDK: the major versions are equal, and the CLI's minor version is not
// older. An SDK may need features of newer engines, such as resource hooks, but an engine needs no features of newer SDKs.
func fits(cli, sdk string) bool {
	return semver.IsValid(cli) && semver.Major(cli) == semver.Major(sdk) && minor(cli) >= minor(sdk)
}

func minor(version string) int {
	_, text, _ := strings.Cut(semver.MajorMinor(version), ".")
	number, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return number
}
