package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newSecretsInitCommand() *cobra.Command {
	var place secretsPlace
	return secretsCommand(&place, &cobra.Command{
		Use:   "init --stack STACK",
		Short: "Make secrets.sops.yaml of a stack, with the names of what its addons need",
		Long: `Make secrets.sops.yaml beside the stack's inventory, encrypted for your age keys, with an empty value for each secret that its
addons need, and a rule with its recipients in .sops.yaml. If a rule there is for this file already, its age recipients can read it
too. If there is no age key in the usual place of SOPS, one is made there, which only you can read. An existing file is not touched.`,
		Example: "  em-infra secrets init --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			return initSecrets(&place, streamsOf(command))
		},
	})
}

func initSecrets(place *secretsPlace, s streams) error {
	w, needed, err := place.needed()
	if err != nil {
		return refused(err)
	}
	if err := secrets.CheckNew(workspace.Nearby(w.Inventory)); err != nil {
		return place.refused(w, err)
	}
	others, err := secrets.RuleRecipients(w.Root, w.Inventory)
	if err != nil {
		return refused(err)
	}
	own, made, err := secrets.KeysHere().Own()
	if err != nil {
		return refused(err)
	}
	if made != "" {
		fmt.Fprintf(s.out, "age key    made in %s: copy that file to a safe place, because nothing else opens the secrets\n", made)
	}
	others = slices.DeleteFunc(others, func(recipient string) bool { return slices.Contains(own, recipient) })
	recipients := slices.Concat(others, own)
	rules, err := secrets.WriteRule(w.Root, w.Inventory, recipients)
	if err != nil {
		return err
	}
	if err := secrets.Create(workspace.Nearby(w.Inventory), recipients, needed); err != nil {
		return err
	}
	for _, recipient := range others {
		fmt.Fprintf(s.out, "recipient  %s (its rule in %s names it)\n", recipient, workspace.Nearby(rules))
	}
	for _, recipient := range own {
		fmt.Fprintf(s.out, "recipient  %s\n", recipient)
	}
	fmt.Fprintf(s.out, "secrets    %s/%s, rule in %s\n", workspace.Nearby(w.Inventory), secrets.File, workspace.Nearby(rules))
	for _, path := range needed {
		fmt.Fprintf(s.out, "to fill in %s\n", path)
	}
	printNext(s.out, "next", typed("secrets edit --stack %s", w.Stack))
	return nil
}

// needed returns the paths of the secrets that the stack's inventory, of any kind, asks for.
func (p *secretsPlace) needed() (*workspace.Workspace, []string, error) {
	o, err := p.stackFlags.open(streams{})
	if err != nil {
		return nil, nil, err
	}
	w := o.Workspace()
	content, err := o.Content()
	if err != nil {
		return &w, nil, err
	}
	return &w, operator.SecretPaths(content), nil
}
