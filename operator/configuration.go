package operator

import (
	"cmp"
	"context"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// configure reads the connection to the host. In a rehearsal it first writes the lab's connection into the stack's configuration.
func (s *session) configure(ctx context.Context, host LabHost) error {
	config, err := s.engine.config(ctx)
	if err != nil {
		return err
	}
	if s.workspace.Rehearsed {
		wanted := rehearsalConfig(s.workspace.Inventory, host, s.inventory)
		former := formerStorage(config, wanted)
		if len(former) > 0 || differs(config, wanted) {
			if err := s.state.SetConfig(ctx, wanted, former...); err != nil {
				return err
			}
			config = wanted
		}
	}
	if _, moved := config[stacks.Key(stacks.KeyLabNetwork)]; moved && !s.workspace.Rehearsed {
		return refused(fmt.Errorf("%s sets %s, which moves the nodes to a rehearsal's network: remove it, or add --lab to rehearse", workspace.Nearby(s.workspace.StackFile()), stacks.Key(stacks.KeyLabNetwork)))
	}
	if s.host, err = s.connection(ctx, config); err != nil {
		return refused(s.place.CompleteError(err))
	}
	s.engine.secrets = append(secretsIn(config), s.host.Token)
	s.factory = cmp.Or(config[stacks.Key(stacks.KeyImageFactoryURL)].Value, components.ImageFactory)
	return nil
}

// proxmoxToken returns the token of the stack, and where it is.
func (o *Operator) proxmoxToken(ctx context.Context, configured string) (string, stacks.TokenPlace, error) {
	return stacks.ProxmoxToken(ctx, configured, o.workspace.Inventory, secrets.Read)
}

// config returns the stack's configuration with its secrets in plain text.
func (e *stackEngine) config(ctx context.Context) (auto.ConfigMap, error) {
	if config, read := e.state.Config(); read {
		return config, nil
	}
	config, err := e.stack.GetAllConfig(ctx)
	return config, sentenceOf(err)
}

// connection returns the connection to the host. The token of a lab is in the configuration of its rehearsal, and nowhere else.
func (o *Operator) connection(ctx context.Context, config auto.ConfigMap) (pve.Connection, error) {
	host := pve.Connection{
		Endpoint: pve.Origin(config[stacks.Key(stacks.KeyProxmoxEndpoint)].Value),
		Token:    config[stacks.Key(stacks.KeyProxmoxToken)].Value,
		Insecure: config[stacks.Key(stacks.KeyProxmoxInsecure)].Value == "true",
	}
	if o.workspace.Rehearsed {
		return host, nil
	}
	var err error
	host.Token, _, err = o.proxmoxToken(ctx, host.Token)
	return host, err
}

// rehearsalConfig returns the configuration of a rehearsal. The inventory of a cluster was moved to the lab's network; a layer has none.
func rehearsalConfig(inventoryDir string, host LabHost, inv *inventory.Inventory) auto.ConfigMap {
	network := host.Networks[0] // of a stack without a cluster
	if inv != nil {
		network = inv.Cluster.Network.CIDR
	}
	config := auto.ConfigMap{
		stacks.Key(stacks.KeyInventory):       {Value: inventoryDir},
		stacks.Key(stacks.KeyProxmoxEndpoint): {Value: host.Endpoint},
		stacks.Key(stacks.KeyProxmoxToken):    {Value: host.Token, Secret: true},
		stacks.Key(stacks.KeyProxmoxInsecure): {Value: "true"},
		stacks.Key(stacks.KeyImageFactoryURL): {Value: host.FactoryURL},
		stacks.Key(stacks.KeyLabNetwork):      {Value: network.String()},
	}
	if host.StorageEndpoint != "" {
		config[stacks.Key(stacks.KeyLabStorage)] = auto.ConfigValue{Value: host.StorageEndpoint + "#" + host.StorageFingerprint}
		config[stacks.Key(stacks.KeyTrueNASAPIKey)] = auto.ConfigValue{Value: host.StorageKey, Secret: true}
	}
	return config
}

// formerStorage returns the names of the settings for the NAS of a lab that no longer has one. An API key alone is not the lab's.
func formerStorage(have, wanted auto.ConfigMap) []string {
	storage := stacks.Key(stacks.KeyLabStorage)
	_, had := have[storage]
	if _, has := wanted[storage]; !had || has {
		return nil
	}
	return []string{storage, stacks.Key(stacks.KeyTrueNASAPIKey)}
}

func differs(have, wanted auto.ConfigMap) bool {
	for key, value := range wanted {
		if have[key].Value != value.Value {
			return true
		}
	}
	return false
}
