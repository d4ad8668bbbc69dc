package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// otherTokens returns the tokens of the other stacks of the project, by their names, and the stacks whose tokens cannot be read here, as with
// another passphrase.
func (t tokenReplacement) otherTokens(ctx context.Context) (tokens map[string]string, unread []string, err error) {
	names, err := workspace.Stacks(t.workspace.Root)
	if err != nil {
		return nil, nil, err
	}
	tokens = map[string]string{}
	for _, name := range names {
		if name == t.workspace.Stack {
			continue
		}
		other, err := workspace.Real(t.workspace.Root, name, "")
		if err != nil {
			unread = append(unread, name)
			continue
		}
		config, isRead := engine.State{Dir: other.Dir, Project: workspace.Project, Stack: name, Passphrase: t.cluster.state.Passphrase}.Config()
		if !isRead {
			unread = append(unread, name)
			continue
		}
		if tokens[name], _, err = stacks.ProxmoxToken(ctx, config[stacks.Key(stacks.KeyProxmoxToken)].Value, other.Inventory, secrets.Read); err != nil {
			unread = append(unread, name)
		}
	}
	return tokens, unread, ctx.Err()
}

// tellUnread says which stacks may have the token and are not seen.
func (t tokenReplacement) tellUnread(ctx context.Context) error {
	_, unread, err := t.otherTokens(ctx)
	if len(unread) > 0 {
		t.emit(Note{Text: fmt.Sprintf("warning: the tokens of these stacks cannot be read here: %s; one that has the former token as well loses Proxmox VE when that is deleted", strings.Join(unread, ", "))})
	}
	return err
}

// checkOthers refuses to delete a token that other stacks of the project have. A token of that name that this host refuses is of another one.
func (t tokenReplacement) checkOthers(ctx context.Context, id string) error {
	tokens, _, err := t.otherTokens(ctx)
	if err != nil {
		return err
	}
	var users []string
	for _, name := range slices.Sorted(maps.Keys(tokens)) {
		if !strings.HasPrefix(tokens[name], id+"=") {
			continue
		}
		tried := t.host
		tried.Token = tokens[name]
		_, err := tried.Reach(ctx)
		if unreached := new(pve.UnreachedError); errors.As(err, &unreached) && unreached.Reason == pve.TokenRefused {
			continue
		}
		if err != nil {
			return err
		}
		users = append(users, name)
	}
	if len(users) == 0 {
		return nil
	}
	return refused(fmt.Errorf("the token %s is that of other stacks as well (%s), which would lose Proxmox VE: set another one as em-infra:proxmoxToken of each, bring each of them up, then run `em-infra rotate proxmox-token` again", id, strings.Join(users, ", ")))
}
