package components_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// described are the types whose fields a user of the library fills in to make a cluster.
var described = regexp.MustCompile(`^(Talos(Template|Node|Cluster)Args|GpuWorkerArgs|ProxmoxHostArgs|HostNetwork|HostInterface|HostStorage|HostMapping|HostDevice|PoolArgs|Pool|ProxmoxAPI|Machine|DataDisk|NIC|System|SystemDisk|SystemNIC|VirtualMachineArgs|ContainerArgs|ImageSource|ImageTemplateArgs|ContainerTemplateArgs|Startup|NodeNetwork|GPU|PCIDevice|Schematic)$`)

func TestEveryFieldSaysWhetherItIsRequiredAndWhatAChangeDoes(t *testing.T) {
	t.Parallel()

	files, err := os.ReadDir(".")
	require.NoError(t, err)
	seen := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.ParseComments)
		require.NoError(t, err)
		for _, declaration := range parsed.Decls {
			general, isGeneral := declaration.(*ast.GenDecl)
			if !isGeneral || general.Tok != token.TYPE {
				continue
			}
			kind := general.Specs[0].(*ast.TypeSpec)
			if fields, isStruct := kind.Type.(*ast.StructType); isStruct && described.MatchString(kind.Name.Name) {
				seen++
				requireDescribed(t, kind.Name.Name, general.Doc.Text(), fields)
			}
		}
	}
	require.Equal(t, 29, seen, "a type was renamed")
}

// requireDescribed accepts one description of a change for all fields of a type.
func requireDescribed(t *testing.T, kind, doc string, fields *ast.StructType) {
	t.Helper()
	for _, field := range fields.Fields.List {
		if len(field.Names) == 0 || !field.Names[0].IsExported() { // the fields of an embedded type are described there
			continue
		}
		text := field.Doc.Text()
		require.Regexp(t, `Required|Default:`, text, "%s.%s", kind, field.Names[0])
		require.Regexp(t, `\bchange\b`, text+doc, "%s.%s", kind, field.Names[0])
	}
}
