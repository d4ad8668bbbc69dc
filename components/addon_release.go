package components

import (
	"maps"
	"strings"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/utilities"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/nodeops"
)

// A release is registered by its token, since the package of its SDK imports sixty API groups (docs/decisions/0009-addons.md).

// releaseTimeoutSeconds covers the download of an addon's images on a slow line.
const releaseTimeoutSeconds = 900

// addRelease installs a chart as a release named after the chart, and waits until its resources are ready. A release that fails
// is rolled back.
func (c *ClusterAddons) addRelease(ctx *pulumi.Context, name, namespace string, chart Chart, own map[string]any, opts ...pulumi.ResourceOption) (pulumi.Resource, error) {
	there, err := c.namespace(ctx, namespace)
	if err != nil {
		return nil, err
	}
	adopt, err := c.adoption(ctx, name, namespace)
	if err != nil {
		return nil, err
	}
	inputs := kubernetes.UntypedArgs{
		"compat":    pulumi.String("true"), // as the SDK's own Release
		"name":      pulumi.String(name),
		"namespace": pulumi.String(namespace),
		"atomic":    pulumi.Bool(true),
		"replace":   pulumi.Bool(true), // replaces a release that failed, see adoption
		"timeout":   pulumi.Int(releaseTimeoutSeconds),
		"values":    valueMap(overlaid(own, chart.Values)),
	}
	for key, value := range chart.source(name) {
		inputs[key] = value
	}
	made := &object{}
	err = ctx.RegisterResource(token.Release, c.name+"-"+name, inputs, made,
		utilities.PkgResourceDefaultOpts(c.inCluster(append(opts, there, pulumi.ResourceHooks(adopt))...))...)
	return made, err
}

// source returns the properties of a Release that name its chart.
func (c Chart) source(name string) pulumi.Map {
	switch {
	case c.Path != "":
		return pulumi.Map{"chart": pulumi.String(c.Path)}
	case strings.HasPrefix(c.Repository, "oci://"):
		return pulumi.Map{"chart": pulumi.String(strings.TrimSuffix(c.Repository, "/") + "/" + name), "version": pulumi.String(c.Version)}
	default:
		return pulumi.Map{
			"chart": pulumi.String(name), "version": pulumi.String(c.Version),
			"repositoryOpts": pulumi.Map{"repo": pulumi.String(c.Repository)},
		}
	}
}

// adoption returns a hook that runs before a release is created. Helm refuses a name that is in use, and a release can exist
// without being in the state: after a destroy that failed halfway, or after an installation that was killed.
func (c *ClusterAddons) adoption(ctx *pulumi.Context, name, namespace string) (*pulumi.ResourceHookBinding, error) {
	if ctx.RunningWithMocks() || c.args.Cluster.args.Stands {
		return &pulumi.ResourceHookBinding{}, nil // as for a rollout: the SDK's mocks panic
	}
	talosconfig := c.args.Cluster.Talosconfig
	hook, err := ctx.RegisterResourceHook(c.name+"-"+name+"-adopt", func(*pulumi.ResourceHookArgs) error {
		result, err := internals.UnsafeAwaitOutput(ctx.Context(), talosconfig)
		if err != nil {
			return err
		}
		text, _ := result.Value.(string) // known when something is created
		return nodeops.AdoptRelease(ctx.Context(), []byte(text), namespace, name)
	}, nil)
	if err != nil {
		return nil, err
	}
	return &pulumi.ResourceHookBinding{BeforeCreate: []*pulumi.ResourceHook{hook}}, nil
}

// overlaid merges one set of values over another, mapping by mapping.
func overlaid(values, over map[string]any) map[string]any {
	result := maps.Clone(values)
	if result == nil {
		result = map[string]any{}
	}
	for key, value := range over {
		inner, isMapping := value.(map[string]any)
		below, wasMapping := result[key].(map[string]any)
		if isMapping && wasMapping {
			value = overlaid(below, inner)
		}
		result[key] = value
	}
	return result
}

// valueMap returns a chart's values as an input.
func valueMap(values map[string]any) pulumi.Map {
	inputs := pulumi.Map{}
	for key, value := range values {
		inputs[key] = chartValue(value)
	}
	return inputs
}

func chartValue(value any) pulumi.Input {
	switch value := value.(type) {
	case map[string]any:
		return valueMap(value)
	case []any:
		list := pulumi.Array{}
		for _, item := range value {
			list = append(list, chartValue(item))
		}
		return list
	default:
		return pulumi.Any(value)
	}
}
