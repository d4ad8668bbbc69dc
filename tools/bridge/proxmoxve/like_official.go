package proxmoxve

import (
	"context"
	"maps"

	sdkv2 "github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/reservedkeys"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// The official plugin is made from v0.69.1 of the Terraform provider, this one from the next version that the Go module proxy
// serves. One state is used with both: with inputs of other names or defaults the one plugin would have every machine
// changed, and so rebooted, that the other one made. What is younger than v0.69.1 is therefore neither an input nor an
// output here and keeps its default, and the defaults that v0.69.1 has and a later one has not are put back.

// younger are the fields that v0.69.1 has not, by resource, with the names that the bridge gives to them.
var younger = map[string]map[string]resource.PropertyKey{
	prefix + "vm":        {"reboot_after_update": "rebootAfterUpdate", "rng": "rngs"},
	prefix + "container": {"device_passthrough": "devicePassthroughs"},
}

// likeOfficial changes a provider of the plugin SDK, and what the bridge says of its resources.
func likeOfficial(p *sdkv2.Provider, infos map[string]*tfbridge.ResourceInfo) *sdkv2.Provider {
	for name, fields := range younger {
		hideYounger(p.ResourcesMap[name].Schema, fields, infos[name])
	}
	addDisplay(infos[prefix+"vm"])
	machine := p.ResourcesMap[prefix+"vm"].Schema
	machine["vga"].DefaultFunc = officialDisplay
	// Without it v0.69.1 makes no drive, so programs set it, and would be told for every machine that they should not.
	drive, _ := machine["cdrom"].Elem.(*sdkv2.Resource)
	drive.Schema["enabled"].Deprecated = ""
	return p
}

// The display that v0.69.1 gives to a machine of which nothing is said (proxmoxtf/resource/vm/vm.go, mkVGA).
const (
	displayType      = "std"
	displayMemoryMiB = 16
)

func officialDisplay() (any, error) {
	return []any{map[string]any{"clipboard": "", "memory": displayMemoryMiB, "type": displayType}}, nil
}

// addDisplay adds the default display to a state without one: an earlier build of this plugin filled none in, and v0.73.0 takes a
// host that has none for the default. Without it each machine of such a state would be rebooted for its default being written down.
// What the bridge notes of the form of a state is left out with it, since that says of the display that there is none.
func addDisplay(info *tfbridge.ResourceInfo) {
	before := info.TransformFromState
	info.TransformFromState = func(ctx context.Context, state resource.PropertyMap) (resource.PropertyMap, error) {
		state, err := before(ctx, state)
		if err == nil && !state["vga"].HasValue() {
			delete(state, reservedkeys.RawStateDelta)
			state["vga"] = resource.NewProperty(resource.PropertyMap{
				"clipboard": resource.NewProperty(""), "memory": resource.NewProperty(float64(displayMemoryMiB)), "type": resource.NewProperty(displayType),
			})
		}
		return state, err
	}
}

// hideYounger takes fields out of the package schema, out of inputs and out of outputs. A default is applied by the provider
// alone, since the bridge fills in none of a deprecated field; a state is given it before the two are compared.
func hideYounger(fields map[string]*sdkv2.Schema, hidden map[string]resource.PropertyKey, info *tfbridge.ResourceInfo) {
	info.Fields = map[string]*tfbridge.SchemaInfo{}
	defaults := resource.PropertyMap{}
	for field, property := range hidden {
		info.Fields[field] = &tfbridge.SchemaInfo{Omit: true}
		fields[field].DefaultFunc = nil // of a block: there is none
		if value := fields[field].Default; value != nil {
			fields[field].Deprecated = "younger than what the SDK was made from"
			defaults[property] = resource.NewPropertyValue(value)
		}
	}
	info.TransformFromState = func(_ context.Context, state resource.PropertyMap) (resource.PropertyMap, error) {
		given := state.Copy()
		maps.Copy(given, defaults)
		return given, nil
	}
	info.TransformOutputs = func(_ context.Context, outputs resource.PropertyMap) (resource.PropertyMap, error) {
		shown := outputs.Copy()
		for _, property := range hidden {
			delete(shown, property)
		}
		return shown, nil
	}
}
