package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/lab/command"
	"github.com/em-infra/em-infra/internal/repositorytest"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/operator"
)

// outputs are what --output json prints, by command.
var outputs = map[string]reflect.Type{
	"drift":          reflect.TypeFor[operator.DriftReport](),
	"etcd copy":      reflect.TypeFor[operator.SnapshotCopies](),
	"etcd list":      reflect.TypeFor[[]operator.EtcdCopy](),
	"explain":        reflect.TypeFor[[]operator.Explanation](),
	"kit list":       reflect.TypeFor[[]operator.Kit](),
	"lab fault list": reflect.TypeFor[command.FaultList](),
	"lab status":     reflect.TypeFor[command.LabStatus](),
	"list":           reflect.TypeFor[[]operator.StackSummary](),
	"outputs":        reflect.TypeFor[[]operator.Output](),
	"preflight":      reflect.TypeFor[preflightReport](),
	"preview":        reflect.TypeFor[previewJSON](),
	"rehearse":       reflect.TypeFor[operator.RehearsalReport](),
	"resources":      reflect.TypeFor[[]operator.Resource](),
	"role":           reflect.TypeFor[operator.PrivilegePlan](),
	"state list":     reflect.TypeFor[[]operator.BackupCopy](),
	"status":         reflect.TypeFor[operator.Status](),
	"tools install":  reflect.TypeFor[[]toolchain.Tool](),
	"tools list":     reflect.TypeFor[[]toolchain.Tool](),
	"validate":       reflect.TypeFor[validation](),
	"versions":       reflect.TypeFor[operator.VersionReport](),
}

// schemaFile returns where the schema of a command's output lies, in the repository.
func schemaFile(command string) string {
	return filepath.Join("schemas/output", strings.ReplaceAll(command, " ", "-")+".schema.json")
}

// TestSchemasOfOutputsAreFresh: schemas/output equals the schemas of the types and their comments, for each command with
// --output, and describes each field.
func TestSchemasOfOutputsAreFresh(t *testing.T) {
	t.Parallel()
	comments := commentsOfSources(t)
	var commands []string
	for _, command := range allCommands(newRootCommand()) {
		if command.Flags().Lookup("output") != nil {
			commands = append(commands, strings.TrimPrefix(command.CommandPath(), toolName+" "))
		}
	}
	require.Len(t, outputs, len(commands))
	for _, command := range commands {
		require.Contains(t, outputs, command, "its type is documented nowhere")
		text := schemaOf(t, command, comments)
		golden.Equal(t, filepath.Join("../..", schemaFile(command)), string(text))
	}
	files, err := filepath.Glob("../../schemas/output/*")
	require.NoError(t, err)
	require.Len(t, files, len(commands), "a schema of a command that is gone")
}

func allCommands(command *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{command}
	for _, child := range command.Commands() {
		all = append(all, allCommands(child)...)
	}
	return all
}

func schemaOf(t *testing.T, command string, comments map[string]string) []byte {
	t.Helper()
	reflector := jsonschema.Reflector{
		Anonymous: true, DoNotReference: true, Mapper: asText,
		LookupComment: func(of reflect.Type, field string) string {
			name := of.PkgPath() + "." + of.Name()
			if field == "" {
				return ""
			}
			comment := strings.Join(strings.Fields(comments[name+"."+field]), " ")
			if comment == "" {
				t.Errorf("%s.%s is printed by em-infra %s --output json and has no comment", name, field, command)
			}
			return comment
		},
	}
	schema := reflector.ReflectFromType(outputs[command])
	schema.Version = "http://json-schema.org/draft-07/schema#"
	schema.Title = "em-infra " + command + " --output json"
	text, err := json.MarshalIndent(schema, "", "  ")
	require.NoError(t, err)
	return append(text, '\n')
}

// asText returns the schema of what writes itself as text, such as an address.
func asText(t reflect.Type) *jsonschema.Schema {
	marshaler := reflect.TypeFor[encoding.TextMarshaler]()
	if t.String() != "time.Time" && (t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)) {
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// commentsOfSources returns the comments of all fields of the module, by package, type and field.
func commentsOfSources(t *testing.T) map[string]string {
	t.Helper()
	comments := map[string]string{}
	for _, folder := range []string{".", "../../internal", "../../components", "../../operator", "../../stacks"} {
		require.NoError(t, filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err == nil {
				readComments(path.Join("github.com/em-infra/em-infra/cmd/em-infra", filepath.ToSlash(filepath.Dir(file))), parsed, comments)
			}
			return err
		}))
	}
	return comments
}

func readComments(folder string, file *ast.File, comments map[string]string) {
	ast.Inspect(file, func(node ast.Node) bool {
		declared, isType := node.(*ast.TypeSpec)
		if !isType {
			return true
		}
		structure, isStruct := declared.Type.(*ast.StructType)
		if !isStruct {
			return true
		}
		for _, field := range structure.Fields.List {
			for _, name := range field.Names {
				comments[folder+"."+declared.Name.Name+"."+name.Name] = field.Doc.Text() + field.Comment.Text()
			}
		}
		return true
	})
}

// compiledOutputs are the schemas in the repository.
var compiledOutputs = sync.OnceValues(func() (map[string]*validator.Schema, error) {
	compiled := map[string]*validator.Schema{}
	for command := range outputs {
		file, err := repositorytest.Path(schemaFile(command)) // tests change the folder
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		compiler := validator.NewCompiler()
		compiler.AssertFormat = true
		if err := compiler.AddResource(command, bytes.NewReader(text)); err != nil {
			return nil, err
		}
		if compiled[command], err = compiler.Compile(command); err != nil {
			return nil, err
		}
	}
	return compiled, nil
})

// undocumented returns how the output of a command differs from its schema; nil if the command was not asked for JSON or printed nothing.
func undocumented(args []string, out string) error {
	at := slices.Index(args, "--output")
	if at < 0 || at+1 == len(args) || args[at+1] != outputJSON || out == "" {
		return nil
	}
	command, _, err := newRootCommand().Find(args)
	if err != nil {
		return err
	}
	schemas, err := compiledOutputs()
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(command.CommandPath(), toolName+" ")
	var value any
	if err := json.Unmarshal([]byte(out), &value); err != nil {
		return fmt.Errorf("%s: %w", out, err)
	}
	if err := schemas[name].Validate(value); err != nil {
		return fmt.Errorf("%s does not describe what was printed: %w", schemaFile(name), err)
	}
	return nil
}

// TestSchemasKnowWhatTheyDescribe: a field that is new, and one that is missing, is noticed.
func TestSchemasKnowWhatTheyDescribe(t *testing.T) {
	t.Parallel()
	args := []string{"lab", "fault", "list", "--output", "json"}
	require.NoError(t, undocumented(args, `{"kinds": [], "set": []}`))
	require.ErrorContains(t, undocumented(args, `{"kinds": [], "set": [], "more": 1}`), "additionalProperties 'more' not allowed")
	require.ErrorContains(t, undocumented(args, `{"kinds": []}`), "missing properties: 'set'")
}
