// Package recorder is the one mock of the engine: it runs a program without engine, provider or host, returns plausible outputs
// and records the registered resources.
package recorder

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/siderolabs/image-factory/pkg/schematic"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// Project and Stack are what a recorded program runs as.
const (
	Project = "em-infra"
	Stack   = "k3s-dev"
)

// programTimeout is how long a program may take. A program that hangs waits for a value that a preview does not have.
const programTimeout = 2 * time.Minute

// Recorder records the resources that a program registers.
type Recorder struct {
	// Resources by token and name, as Key joins them.
	Resources map[string]pulumi.MockResourceArgs
	// Calls are the functions of providers that were called.
	Calls []pulumi.MockCallArgs
	// Exports of the program.
	Exports map[string]pulumi.Input

	mu sync.Mutex
}

// Key names a resource of a recorder.
func Key(token, name string) string { return token + "::" + name }

// Run runs a program as an update, or with [Preview] as a preview. A program that hangs ends the test.
func Run(t testing.TB, program pulumi.RunFunc, options ...pulumi.RunOption) (*Recorder, error) {
	t.Helper()
	type outcome struct {
		recorder *Recorder
		err      error
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errors.New("the program ended its goroutine: let it return an error, and assert outside of it")}
		defer func() { done <- o }()
		o.recorder, o.err = Record(program, options...)
	}()
	select {
	case o := <-done:
		return o.recorder, o.err
	case <-time.After(programTimeout):
		t.Fatal("the program hangs: something waits for a value that a preview does not have")
		return nil, nil
	}
}

// Record does the same as Run outside of a test, for examples.
func Record(program pulumi.RunFunc, options ...pulumi.RunOption) (*Recorder, error) {
	r := &Recorder{Resources: map[string]pulumi.MockResourceArgs{}}
	err := pulumi.RunErr(func(ctx *pulumi.Context) error {
		err := program(ctx)
		r.Exports = ctx.GetCurrentExportMap()
		return err
	}, append([]pulumi.RunOption{pulumi.WithMocks(Project, Stack, r)}, options...)...)
	return r, err
}

// Names returns the types and names of the resources whose token begins with the prefix, sorted.
func (r *Recorder) Names(prefix string) []string {
	var names []string
	for _, args := range r.Resources {
		if kind, found := strings.CutPrefix(args.TypeToken, prefix); found {
			names = append(names, kind+" "+args.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Preview runs the program as a preview: values from providers are unknown.
func Preview(info *pulumi.RunInfo) { info.DryRun = true }

// Config returns the stack's configuration.
func Config(values map[string]string) pulumi.RunOption {
	return func(info *pulumi.RunInfo) { info.Config = values }
}

// Named returns the registration of a resource.
func (r *Recorder) Named(t testing.TB, token, name string) pulumi.MockResourceArgs {
	t.Helper()
	args, found := r.Resources[Key(token, name)]
	require.True(t, found, "%s %q was not registered", token, name)
	return args
}

// NewResource implements [pulumi.MockResourceMonitor].
func (r *Recorder) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := Key(args.TypeToken, args.Name)
	if _, twice := r.Resources[key]; twice {
		return "", nil, fmt.Errorf("%s %q is registered twice", args.TypeToken, args.Name)
	}
	r.Resources[key] = args
	outputs := args.Inputs.Copy()
	maps.Copy(outputs, madeUpOutputs(args.TypeToken))
	if !args.Custom {
		return "", outputs, nil
	}
	id, err := ID(args.TypeToken, args.Name, args.Inputs.Mappable())
	return id, outputs, err
}

// ID returns the provider's ID of a resource: computed for a schematic, made up for others.
func ID(kind, name string, inputs map[string]any) (string, error) {
	if kind != token.Schematic {
		return name + "-id", nil
	}
	text, _ := inputs["schematic"].(string)
	document, err := schematic.Unmarshal([]byte(text))
	if err != nil {
		return "", err
	}
	return document.ID()
}

// FactoryAnswers makes the Image Factory return that ID for every schematic.
func FactoryAnswers(id string) pulumi.RunOption {
	return func(info *pulumi.RunInfo) { info.Mocks = otherFactory{info.Mocks, id} }
}

type otherFactory struct {
	pulumi.MockResourceMonitor
	id string
}

// NewResource implements [pulumi.MockResourceMonitor].
func (f otherFactory) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	id, outputs, err := f.MockResourceMonitor.NewResource(args)
	if args.TypeToken == token.Schematic {
		id = f.id
	}
	return id, outputs, err
}

// Generates makes the Talos provider generate that configuration for every machine.
func Generates(configuration string) pulumi.RunOption {
	return func(info *pulumi.RunInfo) { info.Mocks = otherConfiguration{info.Mocks, configuration} }
}

type otherConfiguration struct {
	pulumi.MockResourceMonitor
	text string
}

// Call implements [pulumi.MockResourceMonitor].
func (o otherConfiguration) Call(args pulumi.MockCallArgs) (resource.PropertyMap, error) {
	answer, err := o.MockResourceMonitor.Call(args)
	answer["machineConfiguration"] = resource.NewStringProperty(o.text)
	return answer, err
}

// Call implements [pulumi.MockResourceMonitor].
func (r *Recorder) Call(args pulumi.MockCallArgs) (resource.PropertyMap, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Calls = append(r.Calls, args)
	return resource.PropertyMap{
		"machineConfiguration": resource.NewStringProperty("machine configuration"),
		"talosConfig":          resource.NewStringProperty("talosconfig"),
	}, nil
}

// madeUpKubeconfig contains the parts of a kubeconfig that programs read.
const madeUpKubeconfig = "made-up: kubeconfigRaw\nclusters: [{name: made-up, cluster: {server: \"https://192.168.20.10:6443\"}}]\n"

// madeUpOutputs returns the outputs that the providers add to the inputs.
func madeUpOutputs(kind string) resource.PropertyMap {
	text := func(names ...string) map[string]any {
		object := make(map[string]any, len(names))
		for _, name := range names {
			object[name] = "made-up " + name
		}
		return object
	}
	switch kind {
	case token.Secrets:
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
	case token.Kubeconfig:
		return resource.NewPropertyMapFromMap(map[string]any{"kubeconfigRaw": madeUpKubeconfig})
	case token.Account:
		return resource.NewPropertyMapFromMap(text("apiKey"))
	default:
		return nil
	}
}
