package operator

import (
	"errors"
	"fmt"
	"os"

	"github.com/em-infra/em-infra/internal/workspace"
)

// checkPreconditions returns errors early that would otherwise occur after minutes: missing consent, secrets or lab.
func (s *session) checkPreconditions(needed needs) error {
	if err := s.consent.check(); err != nil {
		return err
	}
	if !s.workspace.Rehearsed {
		return checkSecrets(s.workspace)
	}
	if needed.lab {
		return s.options.Lab.Check(s.site())
	}
	_, err := s.options.Lab.Running(s.site())
	return err
}

// checkSecrets checks that the secrets for the real host are set.
func checkSecrets(w *workspace.Workspace) error {
	if err := checkPassphrase(); err != nil {
		return err
	}
	found, err := w.HasToken()
	if err == nil && !found {
		err = fmt.Errorf("%s holds no Proxmox API token: run `pulumi config set --stack %s --secret em-infra:proxmoxToken 'USER@REALM!NAME=SECRET'`, or add --lab to rehearse without", workspace.Nearby(w.StackFile()), w.Stack)
	}
	return err
}

// checkPassphrase looks in the same places as the CLI (pulumi pkg/v3 v3.254.0, secrets/passphrase/manager.go, readPassphrase). An
// empty passphrase is valid.
func checkPassphrase() error {
	if _, found := os.LookupEnv("PULUMI_CONFIG_PASSPHRASE"); found {
		return nil
	}
	file := os.Getenv("PULUMI_CONFIG_PASSPHRASE_FILE")
	if file == "" {
		return errors.New("the passphrase of the stack's secrets is not set: put it into a file and run `export PULUMI_CONFIG_PASSPHRASE_FILE=FILE`, or add --lab to rehearse without")
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("the file that PULUMI_CONFIG_PASSPHRASE_FILE names is not there (%w): correct the name, or add --lab to rehearse without", err)
	}
	return nil
}
