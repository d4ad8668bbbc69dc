package proxmoxve

import (
	"context"
	"maps"

	sdkv2 "github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/reservedkeys"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// The official plugin is built from v0.69.1 of the Terraform provider. This plugin is built from the next version that the Go
// module proxy serves. Both use the same states. If their inputs had other names or defaults, one plugin would change, and so
// reboot, every machine that the other one made. So a field that is newer than v0.69.1 is neither an input nor an output here, and
// keeps its default. A default that v0.69.1 has and a later version lacks is restored.

// younger are the fields that v0.69.1 does not have, by resource, with the names that the bridge gives to them.
var younger = map[string]map[string]resource.PropertyKey{
	prefix + "vm":        {"reboot_after_update": "rebootAfterUpdate", "rng": "rngs"},
	prefix + "container": {"device_passthrough": "devicePassthroughs"},
}

// likeOfficial changes the schema of the provider, and the bridge's description of its resources.
func likeOfficial(p *sdkv2.Provider, infos map[string]*tfbridge.ResourceInfo) *sdkv2.Provider {
	for name, fields := range younger {
		hideYounger(p.ResourcesMap[name].Schema, fields, infos[name])
	}
	addDisplay(infos[prefix+"vm"])
	machine := p.ResourcesMap[prefix+"vm"].Schema
	machine["vga"].DefaultFunc = officialDisplay
	// Programs set it, since v0.69.1 creates no drive without it. A deprecation would warn about it for every machine.
	drive, _ := machine["cdrom"].Elem.(*sdkv2.Resource)
	drive.Schema["enabled"].Deprecated = ""
	return p
}

// The display that v0.69.1 gives to a machine without a display in its inputs (proxmoxtf/resource/vm/vm.go, mkVGA).
const (
	displayType      = "std"
	displayMemoryMiB = 16
)

func officialDisplay() (any, error) {
	return []any{map[string]any{"clipboard": "", "memory": displayMemoryMiB, "type": displayType}}, nil
}

// addDisplay adds the default display to a state without a display. An earlier build of this plugin filled in none, and v0.73.0
// reads the default from a host that has none. Without addDisplay each machine of such a state would be rebooted just because its
// default is written down. addDisplay also removes the bridge's record of the form of the state, because that record says that
// there is no display.
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

// hideYounger removes fields from the package schema, the inputs and the outputs. Only the provider applies a default, since the
// bridge does not fill in the default of a deprecated field. The default is added to a state before the state is compared with the
// inputs.
func hideYounger(fields map[string]*sdkv2.Schema, hidden map[string]resource.PropertyKey, info *tfbridge.ResourceInfo) {
	info.Fields = map[string]*tfbridge.SchemaInfo{}
	defaults := resource.PropertyMap{}
	for field, property := range hidden {
		info.Fields[field] = &tfbridge.SchemaInfo{Omit: true}
		fields[field].DefaultFunc = nil // a hidden block has no default
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
