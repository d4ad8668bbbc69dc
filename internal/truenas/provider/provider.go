// Package provider is a provider plugin of Pulumi for what a cluster needs of a TrueNAS box: datasets, NFS shares, iSCSI portals and
// initiator groups, services, and accounts with an API key. em-infra itself is the plugin (docs/decisions/0097).
package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"

	"github.com/em-infra/em-infra/internal/truenas"
)

// Name of the package, and Version of the plugin. The version is part of the name of the plugin's folder and of nothing else.
const (
	Name    = "truenas"
	Version = "v0.1.0"
)

// Provider answers the engine.
type Provider struct {
	plugin.UnimplementedProvider

	// Warn shows the user a warning, such as what was kept. Default: nil, no warnings.
	Warn func(urn resource.URN, text string)

	session  *truenas.Session
	endpoint string
	trying   sync.Once // for the attempt to log in to the box
	isAway   error     // why the box refuses the login or does not answer; nil if it does neither
	warning  sync.Once // of that

	cancel    context.CancelFunc
	cancelled context.Context
}

// New returns a provider that is not configured yet.
func New(warn func(resource.URN, string)) *Provider {
	p := &Provider{Warn: warn}
	p.cancelled, p.cancel = context.WithCancel(context.Background())
	return p
}

// Handshake says what the provider understands: secrets are marked in what it gets and returns.
func (p *Provider) Handshake(context.Context, plugin.ProviderHandshakeRequest) (*plugin.ProviderHandshakeResponse, error) {
	return &plugin.ProviderHandshakeResponse{AcceptSecrets: true, AcceptResources: true}, nil
}

// Close ends the connection to the box.
func (p *Provider) Close() error {
	if p.session != nil {
		p.session.Close()
	}
	return nil
}

// SignalCancellation ends what waits for the box.
func (p *Provider) SignalCancellation(context.Context) error {
	p.cancel()
	return nil
}

// GetPluginInfo returns the version, which the server of the SDK requires.
func (p *Provider) GetPluginInfo(context.Context) (plugin.PluginInfo, error) {
	version, err := semver.ParseTolerant(Version)
	return plugin.PluginInfo{Version: &version}, err
}

// GetSchema returns a schema without types: the program registers the resources by their tokens.
func (p *Provider) GetSchema(context.Context, plugin.GetSchemaRequest) (plugin.GetSchemaResponse, error) {
	return plugin.GetSchemaResponse{Schema: []byte(`{"name":"` + Name + `"}`)}, nil
}

// CheckConfig accepts any configuration: [truenas.Connection.Check] judges it when it is used, since a preview may not know it yet.
func (p *Provider) CheckConfig(_ context.Context, r plugin.CheckConfigRequest) (plugin.CheckConfigResponse, error) {
	return plugin.CheckConfigResponse{Properties: r.News}, nil
}

// DiffConfig changes the connection in place: what stands on the box does not depend on how it is reached.
func (p *Provider) DiffConfig(_ context.Context, r plugin.DiffConfigRequest) (plugin.DiffConfigResponse, error) {
	return difference(r.OldInputs, r.NewInputs, nil, nil), nil
}

// Configure takes the connection, which is opened when it is needed.
func (p *Provider) Configure(_ context.Context, r plugin.ConfigureRequest) (plugin.ConfigureResponse, error) {
	p.endpoint = textOf(r.Inputs, "endpoint")
	p.session = truenas.NewSession(truenas.Connection{
		Endpoint: p.endpoint, Fingerprint: textOf(r.Inputs, "fingerprint"), CA: textOf(r.Inputs, "ca"),
		Username: textOf(r.Inputs, "username"), APIKey: textOf(r.Inputs, "apiKey"),
	})
	return plugin.ConfigureResponse{}, nil
}

// textOf returns a text that may be secret; empty if it is unknown or absent.
func textOf(properties resource.PropertyMap, name resource.PropertyKey) string {
	value := plain(properties[name])
	if !value.IsString() {
		return ""
	}
	return value.StringValue()
}

// plain returns a value without the mark of a secret or an output.
func plain(value resource.PropertyValue) resource.PropertyValue {
	switch {
	case value.IsSecret():
		return plain(value.SecretValue().Element)
	case value.IsOutput():
		return plain(value.OutputValue().Element)
	default:
		return value
	}
}

// Check accepts the inputs: the program has checked them. It warns if the box is away: the refresh of the same run has used the connection in the
// state, while this call uses the one of the program.
func (p *Provider) Check(ctx context.Context, r plugin.CheckRequest) (plugin.CheckResponse, error) {
	p.tellAway(ctx, r.URN)
	return plugin.CheckResponse{Properties: r.News}, nil
}

// Diff compares inputs: after a refresh, the old ones are what is on the box.
func (p *Provider) Diff(_ context.Context, r plugin.DiffRequest) (plugin.DiffResponse, error) {
	k, err := kindOf(r.Type)
	if err != nil {
		return plugin.DiffResponse{}, err
	}
	return difference(r.OldInputs, r.NewInputs, k.replacing(), k.inherent()), nil
}

// difference names each input that changes, except inherent ones, and those of them that need another object.
func difference(before, after resource.PropertyMap, replacing, inherent []string) plugin.DiffResult {
	result := plugin.DiffResult{Changes: plugin.DiffNone, DetailedDiff: map[string]plugin.PropertyDiff{}, DeleteBeforeReplace: true}
	for _, name := range namesOf(before, after) {
		was, had := before[name]
		is, has := after[name]
		if had == has && plain(was).DeepEquals(plain(is)) || slices.Contains(inherent, string(name)) {
			continue
		}
		change := plugin.PropertyDiff{Kind: plugin.DiffUpdate, InputDiff: true}
		switch {
		case !had:
			change.Kind = plugin.DiffAdd
		case !has:
			change.Kind = plugin.DiffDelete
		}
		if slices.Contains(replacing, string(name)) {
			change = change.ToReplace()
			result.ReplaceKeys = append(result.ReplaceKeys, name)
		}
		result.Changes = plugin.DiffSome
		result.ChangedKeys = append(result.ChangedKeys, name)
		result.DetailedDiff[string(name)] = change
	}
	return result
}

// namesOf returns the names in either, without those of the engine's own, sorted.
func namesOf(before, after resource.PropertyMap) []resource.PropertyKey {
	var names []resource.PropertyKey
	for _, properties := range []resource.PropertyMap{before, after} {
		for name := range properties {
			if !strings.HasPrefix(string(name), "__") && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Create makes an object, or adopts the one that is there.
func (p *Provider) Create(ctx context.Context, r plugin.CreateRequest) (plugin.CreateResponse, error) {
	k, err := kindOf(r.Type)
	if err != nil {
		return plugin.CreateResponse{}, err
	}
	if r.Preview {
		return plugin.CreateResponse{Properties: k.planned(r.Properties, nil, true)}, nil
	}
	ID, outputs, err := k.write(p.until(ctx), p.session, r.Properties, nil)
	return plugin.CreateResponse{ID: resource.ID(ID), Properties: outputs}, err
}

// Update changes an object.
func (p *Provider) Update(ctx context.Context, r plugin.UpdateRequest) (plugin.UpdateResponse, error) {
	k, err := kindOf(r.Type)
	if err != nil {
		return plugin.UpdateResponse{}, err
	}
	if r.Preview {
		return plugin.UpdateResponse{Properties: k.planned(r.NewInputs, r.OldOutputs, false)}, nil
	}
	_, outputs, err := k.write(p.until(ctx), p.session, r.NewInputs, r.OldOutputs)
	return plugin.UpdateResponse{Properties: outputs}, err
}

// Read returns the object as it is, in the terms of its inputs: properties that are inherited are absent. Without inputs, the object is imported.
// With inputs, Read returns the object as the state has it if the box refuses the login or does not answer, so that a run that does not need the box
// is not stopped (docs/decisions/0096).
func (p *Provider) Read(ctx context.Context, r plugin.ReadRequest) (plugin.ReadResponse, error) {
	k, err := kindOf(r.Type)
	if err != nil {
		return plugin.ReadResponse{}, err
	}
	if away := p.away(ctx); away != nil && len(r.Inputs) > 0 {
		return p.unread(r, away), nil
	}
	inputs, outputs, err := k.read(p.until(ctx), p.session, string(r.ID), r.Inputs, r.State)
	if err != nil || inputs == nil {
		return plugin.ReadResponse{}, err
	}
	return plugin.ReadResponse{ReadResult: plugin.ReadResult{ID: r.ID, Inputs: inputs, Outputs: outputs}}, nil
}

// Delete deletes an object, or keeps it and warns why. For a service, which always stays, it does not call the box.
func (p *Provider) Delete(ctx context.Context, r plugin.DeleteRequest) (plugin.DeleteResponse, error) {
	k, err := kindOf(r.Type)
	if err != nil {
		return plugin.DeleteResponse{}, err
	}
	kept, err := k.remove(p.until(ctx), p.session, r.Inputs)
	if err != nil {
		return plugin.DeleteResponse{}, p.forget(r, err)
	}
	if kept != nil {
		p.warn(r.URN, kept.Why)
	}
	return plugin.DeleteResponse{}, nil
}

func (p *Provider) warn(urn resource.URN, text string) {
	if p.Warn != nil {
		p.Warn(urn, text)
	}
}

// until returns a context that also ends when the engine cancels.
func (p *Provider) until(ctx context.Context) context.Context {
	joined, end := context.WithCancel(ctx)
	context.AfterFunc(p.cancelled, end)
	return joined
}

func kindOf(token tokens.Type) (kind, error) {
	k, known := kinds[string(token)]
	if !known {
		return nil, fmt.Errorf("the provider %s has no resource %s: build em-infra anew", Name, token)
	}
	return k, nil
}
