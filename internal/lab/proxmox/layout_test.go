package proxmox_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const packages = "github.com/em-infra/em-infra/internal/lab/proxmox"

// beneath are the packages without a host's state, or with state that every service may share.
var beneath = []string{
	"access", "calendar", "flock", "hardware", "host", "journal", "qemu/machine", "qemu/settings", "schema", "storage", "task", "vmconfig",
	"vmlist",
}

// services are the parts of a host, each with the other services that it may import. Outside qemu, a service imports others
// only for the types in its lists, because calls go through interfaces that the service declares. The parts of qemu are
// layers: each imports those below it.
var services = map[string][]string{
	"accesscontrol": nil,
	"cluster":       {"accesscontrol", "lxc", "nodes", "qemu", "storages"},
	"ha":            nil,
	"lxc":           nil,
	"mapping":       nil,
	"network":       nil,
	"nodes":         nil,
	"qemu": {
		"qemu/agent", "qemu/clone", "qemu/config", "qemu/disks", "qemu/lifecycle", "qemu/migrate", "qemu/pending", "qemu/power",
		"qemu/process", "qemu/snapshot", "qemu/statistics",
	},
	"qemu/agent":      {"qemu/config", "qemu/process"},
	"qemu/clone":      {"qemu/config", "qemu/disks", "qemu/process", "qemu/statistics"},
	"qemu/config":     nil,
	"qemu/disks":      {"qemu/config", "qemu/process"},
	"qemu/lifecycle":  {"qemu/config", "qemu/disks", "qemu/process", "qemu/statistics"},
	"qemu/migrate":    {"qemu/config", "qemu/process"},
	"qemu/pending":    {"qemu/config", "qemu/disks", "qemu/process"},
	"qemu/power":      {"qemu/agent", "qemu/config", "qemu/disks", "qemu/process", "qemu/statistics"},
	"qemu/process":    nil,
	"qemu/snapshot":   {"qemu/config", "qemu/disks", "qemu/process"},
	"qemu/statistics": {"qemu/config"},
	"storages":        nil,
	"tasks":           nil,
}

// sources parses the Go files of a package, without tests.
func sources(t *testing.T, dir string) []*ast.File {
	t.Helper()

	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)

	var files []*ast.File

	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}

		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)

		files = append(files, file)
	}

	return files
}

// imported returns the packages of the emulation that a package imports, relative to this folder.
func imported(t *testing.T, dir string) []string {
	t.Helper()

	found := map[string]bool{}

	for _, file := range sources(t, dir) {
		for _, spec := range file.Imports {
			if name, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), packages); ok {
				found[strings.TrimPrefix(name, "/")] = true
			}
		}
	}

	return slices.Sorted(maps.Keys(found))
}

// TestWhoMayImportWhom checks the layers of the emulation: the packages below import no service and no front, the front
// imports no service, and services know one another by their own interfaces only.
func TestWhoMayImportWhom(t *testing.T) {
	t.Parallel()

	allowed := map[string][]string{"api": beneath, "schema/trim": {""}}
	for _, name := range beneath {
		allowed[name] = beneath
	}

	for name, others := range services {
		allowed[name] = slices.Concat(beneath, []string{"api"}, others)
	}

	err := filepath.WalkDir(".", func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || dir == "." || len(sources(t, dir)) == 0 {
			return err
		}

		rule, known := allowed[filepath.ToSlash(dir)]
		require.True(t, known, "package %s is new: say in this test whether it is a service or lies beneath them", dir)

		for _, name := range imported(t, dir) {
			require.Contains(t, rule, name, "package %s must not import %s", dir, path.Join("proxmox", name))
		}

		return nil
	})
	require.NoError(t, err)
}

// TestServicesKeepTheirStateToThemselves checks what the compiler does not: no service exposes its state. An exported field,
// or a method that returns a pointer or a map, would bypass its lock. Save does so for the writer of the state file only.
func TestServicesKeepTheirStateToThemselves(t *testing.T) {
	t.Parallel()

	for name := range services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			found := false

			for _, file := range sources(t, name) {
				ast.Inspect(file, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.TypeSpec:
						fields, isStruct := n.Type.(*ast.StructType)
						if n.Name.Name != "Service" || !isStruct {
							return true
						}

						found = true

						for _, field := range fields.Fields.List {
							if embedded, isName := field.Type.(*ast.Ident); len(field.Names) == 0 {
								require.True(t, isName && !embedded.IsExported(), "a type inside of Service shows what it has")
							}

							for _, f := range field.Names {
								require.False(t, f.IsExported(), "Service.%s", f.Name)
							}
						}
					case *ast.FuncDecl:
						checkMethod(t, n)
					case *ast.SelectorExpr:
						if name != "qemu" { // which saves the state of its parts
							require.NotContains(t, []string{"Save", "Restore"}, n.Sel.Name, "a service that writes down another's state")
						}
					}

					return true
				})
			}

			require.True(t, found, "a service has a type Service")
		})
	}
}

func checkMethod(t *testing.T, f *ast.FuncDecl) {
	t.Helper()

	if f.Recv == nil || !f.Name.IsExported() || f.Name.Name == "Save" || f.Type.Results == nil {
		return
	}

	receiver, isPointer := f.Recv.List[0].Type.(*ast.StarExpr)
	if !isPointer || receiver.X.(*ast.Ident).Name != "Service" {
		return
	}

	for _, result := range f.Type.Results.List {
		ast.Inspect(result.Type, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.StarExpr, *ast.MapType:
				t.Errorf("Service.%s returns a way into the state", f.Name.Name)
			}

			return true
		})
	}
}

// TestOnlyTheFrontAnswers checks that only the front can call a method, because the handler is in an unexported field of its
// package, and that only one place listens for requests.
func TestOnlyTheFrontAnswers(t *testing.T) {
	t.Parallel()

	for _, file := range sources(t, "api") {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != "Method" {
				return true
			}

			for _, field := range spec.Type.(*ast.StructType).Fields.List {
				if _, isFunction := field.Type.(*ast.FuncType); isFunction {
					require.False(t, field.Names[0].IsExported(), "what answers a method can be called past the front")
				}
			}

			return true
		})
	}

	for name := range services {
		for _, file := range sources(t, name) {
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					require.NotContains(t, []string{"ResponseWriter", "Handler", "HandlerFunc"}, s.Sel.Name, "%s answers requests by itself", name)
				}

				return true
			})
		}
	}
}
