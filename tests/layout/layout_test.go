// Package layout_test checks the imports of the module's packages against docs/architecture.md.
package layout_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/repositorytest"
)

const module = "github.com/em-infra/em-infra"

// imports are what each package imports, tests left out: by import path, that of the module's own packages without the module.
type imports map[string][]string

// rule is one rule of the layout. It returns the imports that violate it.
type rule struct {
	name   string
	breaks func(imports) []string
}

// only: a package of a folder is imported only by the listed packages, or within the folder itself.
func only(folder string, importers ...string) func(imports) []string {
	return func(all imports) []string {
		return all.where(func(from, to string) bool {
			return within(to, folder) && !within(from, folder) && !slices.ContainsFunc(importers, func(i string) bool { return within(from, i) })
		})
	}
}

// never: a package imports none of a folder, directly or indirectly.
func never(from string, folders ...string) func(imports) []string {
	return func(all imports) []string {
		var broken []string
		for _, to := range all.reached(from) {
			if slices.ContainsFunc(folders, func(folder string) bool { return within(to, folder) }) {
				broken = append(broken, from+" reaches "+to)
			}
		}
		return broken
	}
}

// both: only the listed packages import both of two packages.
func both(one, other string, importers ...string) func(imports) []string {
	return func(all imports) []string {
		return all.where(func(from, to string) bool {
			return to == one && slices.Contains(all[from], other) && !slices.Contains(importers, from)
		})
	}
}

// shared: the packages of a folder are imported by more than those of another, with exceptions.
func shared(folder, by string, except ...string) func(imports) []string {
	return func(all imports) []string {
		others, owners := map[string]bool{}, map[string]bool{}
		for from, imported := range all {
			for _, to := range imported {
				if within(to, folder) && !within(from, to) {
					owners[to] = owners[to] || within(from, by)
					others[to] = others[to] || !within(from, by)
				}
			}
		}
		var broken []string
		for _, to := range slices.Sorted(maps.Keys(owners)) {
			if owners[to] && !others[to] && !slices.Contains(except, to) {
				broken = append(broken, "only "+by+" imports "+to)
			}
		}
		return broken
	}
}

var rules = []rule{
	{"components know no inventory", never("components", "internal/inventory")},
	{"components run no engine", never("components", "internal/workspace", "internal/toolchain", automation)},
	{"types of resources and plans are read without the engine", never("internal/engine/plan", automation)},
	{"states are read without the engine", never("internal/engine/state", automation)},
	// cmd/em-infra and operator ask components for three names only: of a node, of the bootstrap and of the Image Factory.
	{"only stacks makes arguments of components from an inventory", both("components", "internal/inventory", "stacks", "cmd/em-infra", "operator")},
	{"the program knows neither the lab nor the operator", never("", "internal/lab", "internal/toolchain", "operator", "cmd")},
	{"no part of the product knows the lab", only("internal/lab", "cmd", "operator/lab", "tests")},
	{"only stacks makes arguments of components from an inventory of hosts", both("components", "internal/inventory/hosts", "stacks", "cmd/em-infra", "operator")},
	{"only stacks makes arguments of components from an inventory of systems", both("components", "internal/inventory/systems", "stacks", "cmd/em-infra", "operator")},
	{"commands are imported by nobody", only("cmd")},
	{"the operator is not known below it", only("operator", "cmd", "docs", "tests")},
	// Tests of the command line, and those end to end, look into buckets with it.
	{"what only the operator uses lies beneath it", shared("internal", "operator", "internal/bucket")},
	// The client of an S3 server is a third of what the build of the program takes.
	{"the program is built without the client of an S3 server", never("", "gocloud.dev/blob", "github.com/aws/aws-sdk-go-v2")},
	{"limits and hardware know nothing but themselves", never("internal/pve/limits", "internal", "components", "stacks")},
	{"tests are imported by nobody", only("tests")},
	// They import sixty groups of the API, one package each, which cost the build of the program minutes and gigabytes.
	{"no package that pulls in all of Kubernetes' API", only(kubernetesSDK + "/helm/v3")},
	{"no YAML of pulumi-kubernetes", only(kubernetesSDK + "/yaml")},
}

const (
	kubernetesSDK = "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	// automation is the API that runs the engine.
	automation = "github.com/pulumi/pulumi/sdk/v3/go/auto"
)

func TestPackagesImportWhatTheyMay(t *testing.T) {
	t.Parallel()

	all := list(t)
	require.Contains(t, all, "components")
	require.Contains(t, all["stacks"], "internal/inventory")
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()

			require.Empty(t, rule.breaks(all))
		})
	}
}

// Each kind of rule finds the imports that break it, directly or through another package, and no others.
func TestRulesFindWhatBreaksThem(t *testing.T) {
	t.Parallel()

	all := imports{
		"components":             {"internal/machineconfig", "internal/nodeops"},
		"internal/machineconfig": {"internal/inventory"},
		"internal/nodeops":       {"internal/lab/talos"},
		"internal/lab/talos":     {"internal/lab/pace"},
		"internal/inventoryless": {"components"},
		"stacks":                 {"components", "internal/inventory"},
		"elsewhere":              {"components", "internal/inventory"},
	}
	require.Equal(t, []string{"components reaches internal/inventory"}, never("components", "internal/inventory")(all))
	require.Empty(t, never("internal/lab/talos", "internal/inventory")(all))
	require.Equal(t, []string{"internal/nodeops imports internal/lab/talos"}, only("internal/lab", "cmd")(all))
	require.Empty(t, only("internal/lab", "internal/nodeops")(all))
	require.Equal(t, []string{"only internal/nodeops imports internal/lab/talos"}, shared("internal/lab", "internal/nodeops")(all))
	require.Empty(t, shared("internal/lab", "internal/nodeops", "internal/lab/talos")(all))
	require.Empty(t, shared("internal/inventory", "stacks")(all))
	require.Equal(t, []string{"elsewhere imports components"}, both("components", "internal/inventory", "stacks")(all))
}

// within reports whether a package is that of a folder, or below it.
func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// where returns the imports that satisfy a condition, sorted.
func (all imports) where(holds func(from, to string) bool) []string {
	var found []string
	for _, from := range slices.Sorted(maps.Keys(all)) {
		for _, to := range all[from] {
			if holds(from, to) {
				found = append(found, from+" imports "+to)
			}
		}
	}
	return found
}

// reached returns all packages that a package imports, itself or through others, sorted.
func (all imports) reached(from string) []string {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(path string) {
		for _, to := range all[path] {
			if !seen[to] {
				seen[to] = true
				visit(to)
			}
		}
	}
	visit(from)
	return slices.Sorted(maps.Keys(seen))
}

// list returns the imports of all packages of the module, and of those of other modules that they need.
func list(t *testing.T) imports {
	t.Helper()
	require.NoError(t, repositorytest.DependOnSources())
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports", module+"/...")
	command.Dir = "../.."
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	require.NoError(t, err, "go list: %s", stderr.String())
	all := imports{}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var listed struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			require.NoError(t, fmt.Errorf("go list: %w", err))
		}
		if isStandard(listed.ImportPath) {
			continue
		}
		from := own(listed.ImportPath)
		all[from] = nil
		for _, to := range listed.Imports {
			if !isStandard(to) {
				all[from] = append(all[from], own(to))
			}
		}
	}
}

// isStandard reports whether a package is one of Go's library: those of modules begin with a domain.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// own returns a package of the module without the module; the program itself is "".
func own(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}
