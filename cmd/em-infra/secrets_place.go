package main

import (
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/shell"
	"github.com/em-infra/em-infra/internal/workspace"
)

// secretsPlace selects the stack whose secrets a command works on.
type secretsPlace struct{ stackFlags }

// open opens the stack's file.
func (p *secretsPlace) open() (*workspace.Workspace, *secrets.Document, error) {
	w, err := p.workspace()
	if err != nil {
		return nil, nil, err
	}
	document, err := secrets.Open(workspace.Nearby(w.Inventory), secrets.KeysHere())
	return w, document, p.refused(w, err)
}

// refused returns an error with the flags of the stack in its commands.
func (p *secretsPlace) refused(w *workspace.Workspace, err error) error {
	flags := "--stack " + w.Stack
	if p.inventory != "" {
		flags += " --inventory " + shell.Word(p.inventory)
	}
	return refused(remedy.Place{Stack: flags}.CompleteError(err))
}

// saveRecipients writes the file, and its recipients into the rules of sops.
func saveRecipients(w *workspace.Workspace, document *secrets.Document) error {
	if err := document.Save(); err != nil {
		return err
	}
	var recipients []string
	for _, each := range document.Recipients() {
		recipients = append(recipients, each.Key)
	}
	_, err := secrets.WriteRule(w.Root, w.Inventory, recipients)
	return err
}

// secretsCommand returns a command on the secrets of a stack.
func secretsCommand(place *secretsPlace, command *cobra.Command) *cobra.Command {
	place.bindPlace(command)
	return command
}
