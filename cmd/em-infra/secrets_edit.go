package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/editor"
	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/workspace"
)

func newSecretsEditCommand() *cobra.Command {
	var place secretsPlace
	var resume bool
	command := secretsCommand(&place, &cobra.Command{
		Use:   "edit --stack STACK",
		Short: "Edit the secrets of a stack in $EDITOR",
		Long: `Edit the secrets of a stack in $EDITOR (default: vi). They are in clear only while the editor runs, in a file that you alone
can read. A text that is not valid is kept beside the file, encrypted for your age keys: go on with --resume.`,
		Example: "  em-infra secrets edit --stack k3s-dev\n  EDITOR='code --wait' em-infra secrets edit --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			return editSecrets(command.Context(), &place, resume, streamsOf(command))
		},
	})
	command.Flags().BoolVar(&resume, "resume", false, "go on with the edit that was not valid")
	return command
}

func editSecrets(ctx context.Context, place *secretsPlace, resume bool, s streams) error {
	w, document, err := place.open()
	if err != nil {
		return err
	}
	before, err := document.Text()
	if err != nil {
		return refused(err)
	}
	text, err := textToEdit(document, w, before, resume)
	if err != nil {
		return refused(err)
	}
	edited, err := editor.Editor{Command: os.Getenv(editor.Variable), In: s.in, Out: s.out, Err: s.err}.Edit(ctx, secrets.ClearFile, text)
	if err != nil {
		return refused(fmt.Errorf("%w; %s is as it was", err, secrets.File))
	}
	if invalid := document.Replace(edited); invalid != nil {
		kept, err := document.KeepRejected(edited)
		if err != nil {
			return errors.Join(invalid, err)
		}
		return refused(fmt.Errorf("%w: %s is as it was, and your text is in %s, encrypted: correct it with `em-infra secrets edit --stack %s --resume`",
			invalid, secrets.File, workspace.Nearby(kept), w.Stack))
	}
	if bytes.Equal(before, edited) {
		fmt.Fprintln(s.out, "nothing was changed")
		return document.DropRejected()
	}
	if err := document.Save(); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s is written: %s\n", secrets.File, typed("up --stack %s", w.Stack))
	return document.DropRejected()
}

// textToEdit returns the text that the editor begins with.
func textToEdit(document *secrets.Document, w *workspace.Workspace, present []byte, resume bool) ([]byte, error) {
	kept, err := document.Rejected()
	switch {
	case err != nil:
		return nil, err
	case kept == "" && resume:
		return nil, errors.New("there is no edit to go on with: leave --resume out")
	case kept != "" && !resume:
		return nil, fmt.Errorf("an edit that was not valid is kept in %s: go on with `em-infra secrets edit --stack %s --resume`, or delete that file",
			workspace.Nearby(kept), w.Stack)
	case resume:
		return document.ReadRejected()
	}
	return present, nil
}
