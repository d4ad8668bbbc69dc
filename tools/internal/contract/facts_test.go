package contract_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tools/internal/contract"
)

// sdk is a short form of what Pulumi's code generator writes, with only the parts that are read: a resource, a function and a
// provider.
const sdk = `package pets

type Dog struct {
	pulumi.CustomResourceState
	Name   pulumi.StringOutput      ` + "`pulumi:\"name\"`" + `
	Toys   ToyArrayOutput           ` + "`pulumi:\"toys\"`" + `
	Collar CollarPtrOutput          ` + "`pulumi:\"collar\"`" + `
	Chip   pulumi.StringMapOutput   ` + "`pulumi:\"chip\"`" + `
	Photos pulumi.AssetOrArchiveMapOutput ` + "`pulumi:\"photos\"`" + `
	Mood   MoodPtrOutput            ` + "`pulumi:\"mood\"`" + `
	Odd    pulumi.ArrayOutput       ` + "`pulumi:\"odd\"`" + `
}

func NewDog(ctx *pulumi.Context, name string, args *DogArgs, opts ...pulumi.ResourceOption) (*Dog, error) {
	if args.Name == nil {
		return nil, errors.New("invalid value for required argument 'Name'")
	}
	opts = append(opts, pulumi.AdditionalSecretOutputs([]string{"chip"}))
	var resource Dog
	err := ctx.RegisterResource("pets:index/dog:Dog", name, args, &resource, opts...)
	return &resource, err
}

type dogArgs struct {
	Name string ` + "`pulumi:\"name\"`" + `
	Toys []Toy  ` + "`pulumi:\"toys\"`" + `
}

type DogArgs struct {
	Name pulumi.StringInput
	Toys ToyArrayInput
}

type Toy struct {
	Size   *float64 ` + "`pulumi:\"size\"`" + `
	Chewed bool     ` + "`pulumi:\"chewed\"`" + `
}

type ToyArray []ToyInput

type Collar struct {
	Holes *int ` + "`pulumi:\"holes\"`" + `
}

type Mood string

func GetDogs(ctx *pulumi.Context, opts ...pulumi.InvokeOption) (*GetDogsResult, error) {
	var rv GetDogsResult
	err := ctx.Invoke("pets:index/getDogs:getDogs", nil, &rv, opts...)
	return &rv, err
}

type GetDogsResult struct {
	Names []string ` + "`pulumi:\"names\"`" + `
}

func NewProvider(ctx *pulumi.Context, name string, args *ProviderArgs) (*Provider, error) {
	var resource Provider
	err := ctx.RegisterResource("pulumi:providers:pets", name, args, &resource)
	return &resource, err
}

type providerArgs struct {
	Strict *bool ` + "`pulumi:\"strict\"`" + `
}
`

const schema = `{
  "name": "pets",
  "provider": {"inputProperties": {"strict": {"type": "boolean"}}, "properties": {"strict": {"type": "boolean"}}},
  "resources": {"pets:index/dog:Dog": {
    "inputProperties": {
      "name": {"type": "string"},
      "toys": {"type": "array", "items": {"$ref": "#/types/pets:index%2FToy:Toy"}}
    },
    "requiredInputs": ["name"],
    "properties": {
      "name": {"type": "string"},
      "toys": {"type": "array", "items": {"$ref": "#/types/pets:index/Toy:Toy"}},
      "collar": {"$ref": "#/types/pets:index/Collar:Collar"},
      "chip": {"type": "object", "additionalProperties": {"type": "string"}, "secret": true},
      "photos": {"type": "object", "additionalProperties": {"$ref": "pulumi.json#/Asset"}},
      "mood": {"$ref": "#/types/pets:index:Mood"},
      "odd": {"type": "array", "items": {"$ref": "pulumi.json#/Any"}}
    }
  }},
  "functions": {"pets:index/getDogs:getDogs": {"outputs": {"properties": {
    "names": {"type": "array", "items": {"type": "string"}}
  }}}},
  "types": {
    "pets:index/Toy:Toy": {"type": "object", "properties": {"size": {"type": "number"}, "chewed": {"type": "boolean"}}},
    "pets:index/Collar:Collar": {"type": "object", "properties": {"holes": {"type": "integer"}}},
    "pets:index:Mood": {"type": "string", "enum": [{"value": "happy"}]}
  }
}`

func facts() contract.Facts {
	const dog = "pets:index/dog:Dog"
	return contract.Facts{
		dog:                            "resource",
		dog + " inputs.name":           "string",
		dog + " inputs.toys":           "list",
		dog + " inputs.toys[]":         "object",
		dog + " inputs.toys[].size":    "number",
		dog + " inputs.toys[].chewed":  "boolean",
		dog + " required.name":         "yes",
		dog + " outputs.name":          "string",
		dog + " outputs.toys":          "list",
		dog + " outputs.toys[]":        "object",
		dog + " outputs.toys[].size":   "number",
		dog + " outputs.toys[].chewed": "boolean",
		dog + " outputs.collar":        "object",
		dog + " outputs.collar.holes":  "integer",
		dog + " outputs.chip":          "map",
		dog + " outputs.chip{}":        "string",
		dog + " secret.chip":           "yes",
		dog + " outputs.photos":        "map",
		dog + " outputs.photos{}":      "assetOrArchive",
		dog + " outputs.mood":          "string",
		dog + " outputs.odd":           "list",
		dog + " outputs.odd[]":         "any",

		"pets:index/getDogs:getDogs":                 "function",
		"pets:index/getDogs:getDogs outputs.names":   "list",
		"pets:index/getDogs:getDogs outputs.names[]": "string",

		"pulumi:providers:pets":               "resource",
		"pulumi:providers:pets inputs.strict": "boolean",
	}
}

func TestFromSDK(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "pets.go"), []byte(sdk), 0o600))
	got, err := contract.FromSDK(dir)
	require.NoError(t, err)
	require.Equal(t, facts(), got)
}

func TestFromSchema(t *testing.T) {
	t.Parallel()
	got, err := contract.FromSchema([]byte(schema))
	require.NoError(t, err)
	require.Equal(t, facts(), got)
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	offered := facts()
	delete(offered, "pets:index/getDogs:getDogs outputs.names")
	delete(offered, "pets:index/dog:Dog secret.chip")
	offered["pets:index/dog:Dog inputs.age"] = "integer"
	offered["pets:index/dog:Dog outputs.collar"] = "list"
	offered["pets:index/dog:Dog outputs.collar[]"] = "object"
	offered["pets:index/dog:Dog outputs.collarless"] = "boolean"

	got := contract.Differences(facts(), offered, contract.Exceptions{
		"pets:index/dog:Dog outputs.collar": "it covers what is under collar, not what only starts with its name",
		"pets:index/dog:Dog outputs.tail":   "there is no tail",
	})
	require.Equal(t, []string{
		"pets:index/dog:Dog inputs.age: SDK nothing, schema integer",
		"pets:index/dog:Dog outputs.collarless: SDK nothing, schema boolean",
		"pets:index/dog:Dog outputs.tail: the exception excuses nothing: take it away",
		"pets:index/dog:Dog secret.chip: SDK yes, schema nothing",
		"pets:index/getDogs:getDogs outputs.names: SDK list, schema nothing",
	}, got)
}
