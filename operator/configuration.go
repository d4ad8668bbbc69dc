package operator

import (
	"cmp"
	"context"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// configure reads the connection to the host. In a rehearsal it first writes the lab's connection into the stack's configuration.
func (s *session) configure(ctx context.Context, host LabHost) error {
	config, err := s.config(ctx)
	if err != nil {
		return err
	}
	if s.workspace.Rehearsed {
		wanted := rehearsalConfig(s.workspace, host)
		if differs(config, wanted) {
			if err := s.state.SetConfig(ctx, wanted); err != nil {
				return err
			}
			config = wanted
		}
	}
	if _, moved := config[stacks.Key(stacks.KeyLabNetwork)]; moved && !s.workspace.Rehearsed {
		return refused(fmt.Errorf("%s sets %s, which moves the nodes to a rehearsal's network: remove it, or add --lab to rehearse", workspace.Nearby(s.workspace.StackFile()), stacks.Key(stacks.KeyLabNetwork)))
	}
	s.host, s.secrets = connectionOf(config), secretsIn(config)
	s.factory = cmp.Or(config[stacks.Key(stacks.KeyImageFactoryURL)].Value, components.ImageFactory)
	return nil
}

// config returns the stack's configuration with its secrets in plain text.
func (s *session) config(ctx context.Context) (auto.ConfigMap, error) {
	if config, read := s.state.Config(); read {
		return config, nil
	}
	config, err := s.stack.GetAllConfig(ctx)
	return config, sentenceOf(err)
}

func connectionOf(config auto.ConfigMap) pve.Connection {
	return pve.Connection{
		Endpoint: pve.Origin(config[stacks.Key(stacks.KeyProxmoxEndpoint)].Value),
		Token:    config[stacks.Key(stacks.KeyProxmoxToken)].Value,
		Insecure: config[stacks.Key(stacks.KeyProxmoxInsecure)].Value == "true",
	}
}

func rehearsalConfig(w *workspace.Workspace, host LabHost) auto.ConfigMap {
	return auto.ConfigMap{
		stacks.Key(stacks.KeyInventory):       {Value: w.Inventory},
		stacks.Key(stacks.KeyProxmoxEndpoint): {Value: host.Endpoint},
		stacks.Key(stacks.KeyProxmoxToken):    {Value: host.Token, Secret: true},
		stacks.Key(stacks.KeyProxmoxInsecure): {Value: "true"},
		stacks.Key(stacks.KeyImageFactoryURL): {Value: host.FactoryURL},
		stacks.Key(stacks.KeyLabNetwork):      {Value: host.Network.String()},
	}
}

func differs(have, wanted auto.ConfigMap) bool {
	for key, value := range wanted {
		if have[key].Value != value.Value {
			return true
		}
	}
	return false
}
