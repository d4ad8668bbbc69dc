package provider

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/truenas"
)

// keyOutput is the output with the API key of an account. The box returns it only once, so it is known from the state alone.
const keyOutput = "apiKey"

// account is the kind of accounts.
type account struct{}

func (account) replacing() []string { return []string{"name", "owner"} }

func (account) inherent() []string { return nil }

// planned leaves the key unknown if the run is going to make one.
func (account) planned(inputs, before resource.PropertyMap, created bool) resource.PropertyMap {
	outputs := inputs.Copy()
	outputs[keyOutput] = before[keyOutput]
	if created || plain(before["hasKey"]).DeepEquals(resource.NewProperty(false)) || textOf(before, keyOutput) == "" {
		outputs[keyOutput] = resource.MakeSecret(resource.MakeComputed(resource.NewProperty("")))
	}
	return outputs
}

// write makes another key if the state has none: one that is there but unknown is of no use.
func (account) write(ctx context.Context, to *truenas.Session, inputs, before resource.PropertyMap) (string, resource.PropertyMap, error) {
	wanted, err := decode[truenas.Account](inputs)
	if err != nil {
		return "", nil, err
	}
	known := textOf(before, keyOutput)
	err = to.Do(ctx, func(ctx context.Context, c *truenas.Client) error {
		key, err := c.WriteAccount(ctx, wanted, known != "")
		if key != "" {
			known = key
		}
		return err
	})
	outputs := inputs.Copy()
	outputs[keyOutput] = resource.MakeSecret(resource.NewProperty(known))
	return wanted.Name, outputs, err
}

func (account) read(ctx context.Context, from *truenas.Session, ID string, inputs, state resource.PropertyMap) (resource.PropertyMap, resource.PropertyMap, error) {
	wanted := truenas.Account{Name: ID}
	if len(inputs) > 0 {
		var err error
		if wanted, err = decode[truenas.Account](inputs); err != nil {
			return nil, nil, err
		}
	}
	var found *truenas.Account
	err := from.Do(ctx, func(ctx context.Context, c *truenas.Client) (err error) {
		found, err = c.FindAccount(ctx, wanted)
		return err
	})
	if err != nil || found == nil {
		return nil, nil, err
	}
	known := textOf(state, keyOutput)
	found.HasKey = found.HasKey && known != ""
	got, err := encode(*found)
	if err != nil {
		return nil, nil, err
	}
	outputs := got.Copy()
	outputs[keyOutput] = resource.MakeSecret(resource.NewProperty(known))
	return got, outputs, nil
}

func (account) remove(ctx context.Context, from *truenas.Session, inputs resource.PropertyMap) (kept *truenas.Kept, err error) {
	wanted, err := decode[truenas.Account](inputs)
	if err != nil {
		return nil, err
	}
	err = from.Do(ctx, func(ctx context.Context, c *truenas.Client) (err error) {
		kept, err = c.RemoveAccount(ctx, wanted)
		return err
	})
	return kept, err
}
