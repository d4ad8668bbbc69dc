package components_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve"
	"github.com/pulumi/pulumi-command/sdk/go/command"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos"
	"github.com/stretchr/testify/require"
)

// recorder is the one mock of the engine: it answers with plausible outputs and keeps every registration.
type recorder struct {
	mu        sync.Mutex
	resources map[string]pulumi.MockResourceArgs // by name
	calls     []pulumi.MockCallArgs
}

func (r *recorder) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, twice := r.resources[args.TypeToken+"::"+args.Name]; twice {
		return "", nil, fmt.Errorf("%s %q is registered twice", args.TypeToken, args.Name)
	}
	r.resources[args.TypeToken+"::"+args.Name] = args
	outputs := args.Inputs.Copy()
	maps.Copy(outputs, madeUpOutputs(args.TypeToken))
	if !args.Custom {
		return "", outputs, nil
	}
	return args.Name + "-id", outputs, nil
}

func (r *recorder) Call(args pulumi.MockCallArgs) (resource.PropertyMap, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, args)
	return resource.PropertyMap{
		"machineConfiguration": resource.NewStringProperty("machine configuration"),
		"talosConfig":          resource.NewStringProperty("talosconfig"),
	}, nil
}

// madeUpOutputs are what the providers add to the inputs.
func madeUpOutputs(token string) resource.PropertyMap {
	text := func(names ...string) map[string]any {
		object := make(map[string]any, len(names))
		for _, name := range names {
			object[name] = "made-up " + name
		}
		return object
	}
	switch token {
	case "talos:machine/secrets:Secrets":
		certificate := text("cert", "key")
		return resource.NewPropertyMapFromMap(map[string]any{
			"clientConfiguration": text("caCertificate", "clientCertificate", "clientKey"),
			"machineSecrets": map[string]any{
				"certs": map[string]any{
					"etcd": certificate, "k8s": certificate, "k8sAggregator": certificate,
					"k8sServiceaccount": text("key"), "os": certificate,
				},
				"cluster":    text("id", "secret"),
				"secrets":    text("bootstrapToken", "secretboxEncryptionSecret"),
				"trustdinfo": text("token"),
			},
		})
	case "talos:cluster/kubeconfig:Kubeconfig":
		return resource.NewPropertyMapFromMap(text("kubeconfigRaw"))
	default:
		return nil
	}
}

// named returns the registration of a resource.
func (r *recorder) named(t *testing.T, token, name string) pulumi.MockResourceArgs {
	t.Helper()
	args, found := r.resources[token+"::"+name]
	require.True(t, found, "%s %q was not registered", token, name)
	return args
}

// plan is one line for each resource, sorted: what a review of a preview would look at.
func (r *recorder) plan() string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(r.resources)) {
		lines = append(lines, planLine(r.resources[key]))
	}
	return strings.Join(lines, "\n") + "\n"
}

func planLine(args pulumi.MockResourceArgs) string {
	rpc := args.RegisterRPC
	fields := []string{args.TypeToken, args.Name}
	add := func(label string, values ...string) {
		values = slices.DeleteFunc(slices.Clone(values), func(value string) bool { return value == "" })
		if len(values) > 0 {
			slices.Sort(values)
			fields = append(fields, label+"="+strings.Join(values, ","))
		}
	}
	add("parent", shortURN(rpc.GetParent()))
	add("provider", shortURN(providerURN(rpc.GetProvider())))
	add("dependsOn", explicitDependencies(args)...)
	add("ignoreChanges", rpc.GetIgnoreChanges()...)
	add("deletedWith", shortURN(rpc.GetDeletedWith()))
	add("replaceWith", shortURNs(rpc.GetReplaceWith())...)
	flag := func(label string, set bool) {
		if set {
			fields = append(fields, label)
		}
	}
	flag("protect", rpc.GetProtect())
	flag("retainOnDelete", rpc.GetRetainOnDelete())
	flag("deleteBeforeReplace", rpc.GetDeleteBeforeReplace())
	slices.Sort(fields[2:])
	return strings.Join(fields, " ")
}

// explicitDependencies are those that no property explains.
func explicitDependencies(args pulumi.MockResourceArgs) []string {
	explained := map[string]bool{}
	for _, dependencies := range args.RegisterRPC.GetPropertyDependencies() {
		for _, urn := range dependencies.GetUrns() {
			explained[urn] = true
		}
	}
	return shortURNs(slices.DeleteFunc(slices.Clone(args.RegisterRPC.GetDependencies()), func(urn string) bool { return explained[urn] }))
}

func providerURN(reference string) string {
	if i := strings.LastIndex(reference, "::"); i > 0 {
		return reference[:i]
	}
	return reference
}

// shortURN is the name in a URN; that of the program itself says nothing.
func shortURN(urn string) string {
	if strings.Contains(urn, "pulumi:pulumi:Stack::") {
		return ""
	}
	if i := strings.LastIndex(urn, "::"); i >= 0 {
		return urn[i+len("::"):]
	}
	return urn
}

func shortURNs(urns []string) []string {
	short := make([]string, len(urns))
	for i, urn := range urns {
		short[i] = shortURN(urn)
	}
	return short
}

// run runs a program against the recorder, as an update or as a preview.
func run(t *testing.T, preview bool, program func(ctx *pulumi.Context, providers pulumi.ResourceOption) error) (*recorder, error) {
	t.Helper()

	r := &recorder{resources: map[string]pulumi.MockResourceArgs{}}
	done := make(chan error, 1)
	go func() {
		done <- pulumi.RunErr(func(ctx *pulumi.Context) error {
			providers, err := providers(ctx)
			if err != nil {
				return err
			}
			return program(ctx, providers)
		}, pulumi.WithMocks("em-infra", "test", r), func(info *pulumi.RunInfo) { info.DryRun = preview })
	}()
	select {
	case err := <-done:
		return r, err
	case <-time.After(30 * time.Second):
		t.Fatal("the program hangs: something waits for a value that a preview does not have")
		return nil, nil
	}
}

func providers(ctx *pulumi.Context) (pulumi.ResourceOption, error) {
	proxmox, err := proxmoxve.NewProvider(ctx, "proxmox", &proxmoxve.ProviderArgs{})
	if err != nil {
		return nil, err
	}
	machines, err := talos.NewProvider(ctx, "talos", &talos.ProviderArgs{})
	if err != nil {
		return nil, err
	}
	commands, err := command.NewProvider(ctx, "command", &command.ProviderArgs{})
	if err != nil {
		return nil, err
	}
	return pulumi.Providers(proxmox, machines, commands), nil
}
