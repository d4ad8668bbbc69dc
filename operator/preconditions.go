package operator

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// checkPreconditions returns errors early that would otherwise occur after minutes: missing consent, secrets or lab.
func (s *session) checkPreconditions(ctx context.Context, needed needs) error {
	if err := s.consent.check(); err != nil {
		return err
	}
	if !s.workspace.Rehearsed {
		return s.checkSecrets(ctx)
	}
	if needed.lab {
		return s.options.Lab.Check(s.site())
	}
	_, err := s.options.Lab.Running(s.site())
	return err
}

// checkSealing refuses a stack whose secrets a key service seals, and whose inventory names no recipient of snapshots and kits. A rehearsal
// has a passphrase of its own.
func (o *Operator) checkSealing(inv *inventory.Inventory) error {
	provider, err := o.workspace.SecretsProvider()
	if err != nil {
		return err
	}
	return stacks.CheckSealing(o.workspace.Stack, inv, provider)
}

// checkSecrets checks that the secrets for the real host are set.
func (o *Operator) checkSecrets(ctx context.Context) error {
	w := o.workspace
	if err := o.checkStateSecrets(); err != nil {
		return err
	}
	if _, err := os.Stat(w.StackFile()); errors.Is(err, os.ErrNotExist) {
		return noStackFile(w)
	}
	found, err := w.HasToken()
	if err != nil || found {
		return err
	}
	_, place, err := o.proxmoxToken(ctx, "")
	if err == nil && place == stacks.TokenNowhere {
		err = fmt.Errorf("%s holds no Proxmox API token: run `pulumi config set --stack %s --secret em-infra:proxmoxToken 'USER@REALM!NAME=SECRET'`, or add --lab to rehearse without", workspace.Nearby(w.StackFile()), w.Stack)
	}
	return err
}

// noStackFile is the refusal of a stack without a file. Its state has the salt of its own secrets, so a file that is written anew fits it, as
// long as the passphrase is the same.
func noStackFile(w *workspace.Workspace) error {
	return fmt.Errorf("%s is not there: put it back from git or with `em-infra kit restore --stack %[2]s`, or write it with `pulumi config set --stack %[2]s em-infra:proxmoxEndpoint https://HOST:8006` and `pulumi config set --stack %[2]s --secret em-infra:proxmoxToken 'USER@REALM!NAME=SECRET'`, with the passphrase of the state if there is one; or add --lab to rehearse without",
		workspace.Nearby(w.StackFile()), w.Stack)
}

// checkStateSecrets checks that what opens the state is set: the passphrase, and the key of its bucket if secrets.sops.yaml has that.
func (o *Operator) checkStateSecrets() error {
	if err := o.checkPassphrase(); err != nil {
		return err
	}
	if o.unread != nil && address.IsS3(o.workspace.Backend) {
		return fmt.Errorf("the key of the bucket with the state is not set, and it was looked for in %s: %w", inventory.SecretsFile, o.unread)
	}
	return nil
}

// checkPassphrase looks in the same places as the CLI (pulumi pkg/v3 v3.254.0, secrets/passphrase/manager.go, readPassphrase). An
// empty passphrase is valid. A stack whose secrets a key service seals needs none.
func (o *Operator) checkPassphrase() error {
	if provider, err := o.workspace.SecretsProvider(); err != nil || !engine.SealsByPassphrase(provider) {
		return err
	}
	if _, found := os.LookupEnv("PULUMI_CONFIG_PASSPHRASE"); found {
		return nil
	}
	file := os.Getenv("PULUMI_CONFIG_PASSPHRASE_FILE")
	if file == "" && o.unread != nil {
		return fmt.Errorf("the passphrase of the stack's secrets is not set, and it was looked for in %s: %w", inventory.SecretsFile, o.unread)
	}
	if file == "" {
		return errors.New("the passphrase of the stack's secrets is not set: put it into a file and run `export PULUMI_CONFIG_PASSPHRASE_FILE=FILE`, or add --lab to rehearse without")
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("the file that PULUMI_CONFIG_PASSPHRASE_FILE names is not there (%w): correct the name, or add --lab to rehearse without", err)
	}
	return nil
}
