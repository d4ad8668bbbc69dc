package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/stacks"
)

// RotateTokenOptions are the options of [Operator.RotateToken].
type RotateTokenOptions struct {
	// Administrator is a token of Proxmox VE, USER@REALM!NAME=SECRET, that may manage tokens. Default: empty, the stack's own token, which
	// may only do that if it has more privileges than em-infra needs.
	Administrator string
	// Lifetime of the new token. Default: 0, it has no end.
	Lifetime time.Duration
}

// TokenRotated is what a run of [Operator.RotateToken] has done.
type TokenRotated struct {
	// Made is the ID of the new token, which the configuration of the stack contains now; empty if the former one was deleted.
	Made string
	// Former is the ID of the former token.
	Former string
}

// TokenRotationSteps are the steps of [Operator.RotateToken], in their order. None stops anything in the cluster.
var TokenRotationSteps = []string{
	"make a second token of the same user, with the entries of the present one in the access control list",
	"try it: the host accepts it, and it has the same privileges on each path",
	"write it into the configuration of the stack",
	"you run `em-infra up`, which writes it into the state",
	"run this command again: it deletes the former token, if neither the state nor another stack of the project has it any more",
}

// RotateToken replaces the token of Proxmox VE, after consent. The first run makes the new token and writes it into the stack's
// configuration; after an up, the second run deletes the former one. Each can be repeated after a kill at any point.
func (o *Operator) RotateToken(ctx context.Context, options RotateTokenOptions) (*TokenRotated, error) {
	if o.workspace.Rehearsed {
		return nil, refused(errors.New("the token of a rehearsal is made with its lab: leave --lab out"))
	}
	if options.Lifetime < 0 {
		return nil, refused(fmt.Errorf("--lifetime: a token cannot end before it is made (got %s): give a longer time, or leave the flag out", options.Lifetime))
	}
	s, err := o.begin(ctx, needs{consent: "replace its token of Proxmox VE"})
	if err != nil {
		return nil, err
	}
	if !s.state.SealedByPassphrase() {
		return nil, refused(fmt.Errorf("the secrets of stack %s are sealed by %s: replace the token by hand, see docs/security.md", o.workspace.Stack, s.state.SecretsProvider))
	}
	if err := s.tokenReplacement().checkConfigured(ctx); err != nil {
		return nil, refused(err)
	}
	defer s.recovery.Release(ctx)
	if _, err := s.recovery.ClearLocks(ctx); err != nil {
		return nil, err
	}
	if err := s.tokenReplacement().tellUnread(ctx); err != nil {
		return nil, err
	}
	if err := s.consent.ask(ctx); err != nil {
		return nil, err
	}
	return s.tokenReplacement().run(ctx, options)
}

// tokenReplacement replaces the token of a stack by one in its configuration.
type tokenReplacement struct {
	*Operator

	cluster clusterInState
	host    pve.Connection // with the present token
	config  func(context.Context) (auto.ConfigMap, error)
}

func (s *session) tokenReplacement() tokenReplacement {
	return tokenReplacement{Operator: s.Operator, cluster: s.inState(), host: s.host, config: s.engine.config}
}

// checkConfigured refuses a token that is not in the stack's configuration, into which the new one would be written.
func (t tokenReplacement) checkConfigured(ctx context.Context) error {
	config, err := t.config(ctx)
	if err != nil {
		return err
	}
	_, place, err := t.proxmoxToken(ctx, config[stacks.Key(stacks.KeyProxmoxToken)].Value)
	switch {
	case err != nil:
		return t.cluster.place.CompleteError(err)
	case place == stacks.TokenInEnvironment:
		return fmt.Errorf("the token is in %s, which wins over the stack's configuration, into which the new one is written: unset it, or replace the token by hand, see docs/security.md", stacks.TokenVariable)
	case place == stacks.TokenInSecrets:
		return fmt.Errorf("the token is %s in %s, and the new one is written into the stack's configuration: replace the token by hand, see docs/security.md", stacks.TokenPath, inventory.SecretsFile)
	}
	return nil
}

func (t tokenReplacement) run(ctx context.Context, options RotateTokenOptions) (*TokenRotated, error) {
	rotation := pve.TokenRotation{
		Present: t.host, Administrator: t.host, Lifetime: options.Lifetime, Now: t.clock.Now,
		Save: func(token string) error {
			return t.cluster.state.SetConfig(ctx, auto.ConfigMap{stacks.Key(stacks.KeyProxmoxToken): {Value: token, Secret: true}})
		},
		IsUsed: func(id string) (bool, error) {
			if used, err := t.cluster.contains(ctx, id+"="); used || err != nil {
				return used, err
			}
			return false, t.checkOthers(ctx, id)
		},
		MayRemake: func(id string) (bool, error) { return t.mayRemake(ctx, id) },
	}
	rotation.Administrator.Token = cmp.Or(options.Administrator, t.host.Token)
	step, err := rotation.Run(ctx)
	if err != nil {
		return nil, t.cluster.place.CompleteError(tokenError(err))
	}
	return &TokenRotated{Made: step.Made, Former: step.Former}, nil
}

// AdministratorVariable is the environment variable of the command line with the token that may manage tokens.
const AdministratorVariable = "EM_INFRA_PROXMOX_ADMIN_TOKEN"

// tokenError adds what to do to the errors of a rotation that changed nothing.
func tokenError(err error) error {
	switch {
	case errors.Is(err, pve.ErrNoAdministrator):
		return refused(fmt.Errorf("%w: set %s to one with User.Modify on /access/groups and Permissions.Modify on /, or replace the token by hand, see docs/security.md", err, AdministratorVariable))
	case errors.Is(err, pve.ErrTokenInUse):
		return refused(fmt.Errorf("%w: run `em-infra up` first, then `em-infra rotate proxmox-token` again", err))
	case errors.Is(err, pve.ErrTokenEnds):
		return refused(fmt.Errorf("%w: choose that of the new one with --lifetime, e.g. 8760h", err))
	}
	return err
}
