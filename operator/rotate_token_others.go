package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// otherSecrets returns the token and the secrets in the state of each other stack of the project, by the name of the stack. unread are the stacks
// whose configuration or state cannot be read here, e.g. because they have another passphrase.
func (t tokenReplacement) otherSecrets(ctx context.Context) (secrets map[string][]string, unread []string, err error) {
	names, err := workspace.Stacks(t.workspace.Root)
	if err != nil {
		return nil, nil, err
	}
	secrets = map[string][]string{}
	for _, name := range names {
		if name == t.workspace.Stack {
			continue
		}
		found, isWhole := t.secretsOf(ctx, name)
		if !isWhole {
			unread = append(unread, name)
		}
		secrets[name] = found
	}
	return secrets, unread, ctx.Err()
}

// secretsOf returns the token of another stack and the secrets in its state, as far as they can be read.
func (t tokenReplacement) secretsOf(ctx context.Context, name string) (found []string, isWhole bool) {
	other, err := workspace.Real(t.workspace.Root, name, "")
	if err != nil {
		return nil, false
	}
	stack := t.cluster.state.State
	stack.Dir, stack.Project, stack.Stack, stack.Env = other.Dir, workspace.Project, name, maps.Clone(stack.Env)
	maps.Copy(stack.Env, other.Environment())
	config, isWhole := stack.Config()
	if isWhole {
		token, _, err := stacks.ProxmoxToken(ctx, config[stacks.Key(stacks.KeyProxmoxToken)].Value, other.Inventory, secrets.Read)
		found, isWhole = append(found, token), err == nil
	}
	exported, err := stack.Export(ctx)
	if errors.Is(err, engine.ErrNoStack) {
		return found, isWhole
	}
	if err != nil {
		return found, false
	}
	texts, err := state.SecretTexts(exported.Deployment)
	return append(found, texts...), isWhole && err == nil
}

// tellUnread warns about the stacks that may have the token and cannot be read.
func (t tokenReplacement) tellUnread(ctx context.Context) error {
	_, unread, err := t.otherSecrets(ctx)
	if len(unread) > 0 {
		t.emit(Note{Text: fmt.Sprintf("warning: the tokens of these stacks cannot be read here: %s; a stack that uses the former token too cannot reach Proxmox VE any more when that is deleted", strings.Join(unread, ", "))})
	}
	return err
}

// users returns the other stacks of the project that have a token, and those that cannot be read. A token of that name that this host
// refuses is of another Proxmox VE.
func (t tokenReplacement) users(ctx context.Context, id string) (users, unread []string, err error) {
	found, unread, err := t.otherSecrets(ctx)
	if err != nil {
		return nil, nil, err
	}
	token := regexp.MustCompile(`(?:^|[^A-Za-z0-9._@-])(` + regexp.QuoteMeta(id) + `=[A-Za-z0-9-]+)`)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		isUser := false
		for _, match := range token.FindAllStringSubmatch(strings.Join(found[name], "\n"), -1) {
			accepted, err := t.accepted(ctx, match[1])
			if err != nil {
				return nil, nil, err
			}
			isUser = isUser || accepted
		}
		if isUser {
			users = append(users, name)
		}
	}
	return users, unread, nil
}

// accepted reports whether the host of the stack accepts a token.
func (t tokenReplacement) accepted(ctx context.Context, token string) (bool, error) {
	tried := t.host
	tried.Token = token
	_, err := tried.Reach(ctx)
	if unreached := new(pve.UnreachedError); errors.As(err, &unreached) && unreached.Reason == pve.TokenRefused {
		return false, nil
	}
	return err == nil, err
}

// checkOthers refuses to delete a token that other stacks of the project have.
func (t tokenReplacement) checkOthers(ctx context.Context, id string) error {
	users, _, err := t.users(ctx, id)
	if err != nil || len(users) == 0 {
		return err
	}
	return refused(fmt.Errorf("the token %s is that of other stacks as well (%s), which would lose Proxmox VE: set the new one, which stack %s has, as em-infra:proxmoxToken of each, bring each of them up, then run `em-infra rotate proxmox-token` again",
		id, strings.Join(users, ", "), t.workspace.Stack))
}

// mayRemake reports whether a token that was made to replace that of this stack is the leftover of a killed run: no other stack has it, and all of
// them can be read. If another stack has it, the error is a refusal: this stack can have the same token.
func (t tokenReplacement) mayRemake(ctx context.Context, id string) (bool, error) {
	users, unread, err := t.users(ctx, id)
	if err != nil {
		return false, err
	}
	if len(users) > 0 {
		return false, refused(fmt.Errorf("the token %s replaces that of stack %s already, and other stacks have it (%s): set it as em-infra:proxmoxToken of stack %[2]s as well, run `em-infra up`, then `em-infra rotate proxmox-token` again",
			id, t.workspace.Stack, strings.Join(users, ", ")))
	}
	return len(unread) == 0, nil
}
