package pve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// HostTokenRun makes, changes and deletes an API token for another program. It does not touch the token that it works with.
type HostTokenRun struct {
	// Connection to Proxmox VE.
	Connection Connection
	// Wanted is the token.
	Wanted hostspec.Token
	// Former is USER@REALM!NAME=SECRET as an earlier Apply has returned it; empty if there was none. Only that token is changed or deleted.
	Former string
}

// Apply creates the token or changes it to what is wanted, and returns USER@REALM!NAME=SECRET. It creates anew a token that a failed or killed run
// has left without its permissions. It refuses any other existing token that is not [HostTokenRun.Former].
func (r HostTokenRun) Apply(ctx context.Context) (string, error) {
	tokens, plan, err := r.look(ctx)
	if err != nil {
		return "", err
	}
	token := r.Former
	if plan.remove {
		if err := tokens.Delete(ctx, r.Wanted.ID); err != nil {
			return "", r.explained(err)
		}
	}
	if plan.create {
		if token, err = tokens.Create(ctx, r.Wanted.ID, r.settings("")); err != nil {
			return "", r.explained(err)
		}
	}
	for _, change := range plan.grants {
		if err := change.call(ctx, tokens.client); err != nil {
			return "", fmt.Errorf("%s: not done (%w): mend that, then run up again, which makes the token anew", change.sentence, err)
		}
	}
	if plan.create || plan.change { // the mark is completed once the token is complete
		if err := tokens.Change(ctx, r.Wanted.ID, r.settings(token)); err != nil {
			return "", r.explained(err)
		}
	}
	return token, nil
}

// Foresee returns what Apply would do, a sentence each, and the refusal that it would begin with, or what the token of the run lacks for it. It
// changes nothing.
func (r HostTokenRun) Foresee(ctx context.Context) ([]string, error) {
	tokens, plan, err := r.look(ctx)
	if err != nil {
		return nil, err
	}
	calls := accessPlan{changes: plan.grants}
	if len(plan.sentences) > 0 {
		path := tokenPath(r.Wanted.ID)
		calls.changes = append([]accessChange{{sentence: plan.sentences[0], method: http.MethodPut, path: path}}, calls.changes...)
	}
	return plan.sentences, calls.checkPrivileges(ctx, Reader(tokens))
}

// Differences returns what differs from the wanted token, a sentence each.
func (r HostTokenRun) Differences(ctx context.Context) ([]string, error) {
	_, plan, err := r.look(ctx)
	return plan.sentences, err
}

// TokenRelease is the result of the release of a token.
type TokenRelease string

const (
	// TokenDeleted means that it was deleted.
	TokenDeleted TokenRelease = "deleted"
	// TokenGone means that it did not exist.
	TokenGone TokenRelease = "gone before"
	// TokenForeign means that another user has made the token of that name, so it stays.
	TokenForeign TokenRelease = "kept: this stack did not make it"
)

// Release deletes the token if it is [HostTokenRun.Former], or one that a run of this stack has left unfinished in its place.
func (r HostTokenRun) Release(ctx context.Context) (TokenRelease, error) {
	if r.Former == "" {
		return TokenForeign, nil
	}
	if r.isOwn() {
		return "", r.refuseOwn("it would be deleted")
	}
	found, err := r.find(ctx)
	switch {
	case err != nil:
		return "", err
	case !found.exists:
		return TokenGone, nil
	}
	owner, hash := hostspec.MarkIn(found.settings.Comment)
	if isUnfinished := owner == r.Wanted.Owner && hash == ""; !isUnfinished && !r.isFormer(ctx, hash) {
		return TokenForeign, nil
	}
	return TokenDeleted, r.explained(found.tokens.Delete(ctx, r.Wanted.ID))
}

func (r HostTokenRun) isOwn() bool {
	own, _, _ := strings.Cut(r.Connection.Token, "=")
	return own == r.Wanted.ID
}

func (r HostTokenRun) refuseOwn(why string) error {
	return fmt.Errorf("the token %s is the one that this run works with, and is not touched (%s): run this with the token of another user, or leave it out of the inventory", r.Wanted.ID, why)
}

// settings returns the settings of the token; its mark is whole if the token is given with its secret.
func (r HostTokenRun) settings(token string) TokenSettings {
	return TokenSettings{Comment: r.Wanted.CommentOf(token), Expire: r.Wanted.Expires, Separated: r.Wanted.Separated}
}

// tokenPlan is what brings a token to what is wanted.
type tokenPlan struct {
	remove, create, change bool
	grants                 []accessChange
	sentences              []string
}

func (p *tokenPlan) say(format string, args ...any) {
	p.sentences = append(p.sentences, fmt.Sprintf(format, args...))
}

// foundToken is the token as it is, with the permissions of all holders.
type foundToken struct {
	tokens   Tokens
	exists   bool
	settings TokenSettings
	grants   []hostspec.Grant
}

func (r HostTokenRun) find(ctx context.Context) (found foundToken, err error) {
	if found.tokens, err = NewTokens(r.Connection); err != nil {
		return foundToken{}, err
	}
	access, err := readAccess(ctx, Reader(found.tokens))
	if err != nil {
		return foundToken{}, err
	}
	found.grants = access.grants
	user, _ := hostspec.TokenOf(r.Wanted.ID)
	if _, exists := access.user(user); exists { // else the same run makes it; Proxmox VE refuses questions about users that do not exist
		if found.settings, found.exists, err = found.tokens.Find(ctx, r.Wanted.ID); err != nil {
			return foundToken{}, r.explained(err)
		}
	}
	return found, nil
}

func (r HostTokenRun) look(ctx context.Context) (Tokens, tokenPlan, error) {
	found, err := r.find(ctx)
	if err != nil {
		return Tokens{}, tokenPlan{}, err
	}
	plan, err := r.plan(ctx, found)
	return found.tokens, plan, err
}

// explained adds what to do to the answer that the token of the run may not manage tokens.
func (r HostTokenRun) explained(err error) error {
	if errors.Is(err, ErrForbidden) || errors.Is(err, errNotAllowed) {
		return fmt.Errorf("the token of this run may not manage the token %s: give it User.Modify on /access/groups, then run again", r.Wanted.ID)
	}
	return err
}

func (r HostTokenRun) plan(ctx context.Context, found foundToken) (plan tokenPlan, err error) {
	user, name := hostspec.TokenOf(r.Wanted.ID)
	present := found.settings
	owner, hash := hostspec.MarkIn(present.Comment)
	wanted := r.settings(r.Former)
	switch {
	case !found.exists:
		plan.create = true
		plan.say("token %s is made", r.Wanted.ID)
	case r.isFormer(ctx, hash):
		if plan.change = present != wanted; plan.change {
			plan.say("token %s is changed: %s", r.Wanted.ID, strings.Join(tokenDifferences(present, wanted), ", "))
		}
	case r.isOwn():
		return plan, r.refuseOwn("the state of this stack does not have it")
	case owner == r.Wanted.Owner && hash == "":
		plan.remove, plan.create = true, true
		plan.say("token %s is made anew: a run that did not end has left it unfinished", r.Wanted.ID)
	default:
		return plan, fmt.Errorf("the token %s exists, the state of this stack does not have it, and Proxmox VE shows a secret only once: delete it with `pveum user token remove %s %s`, which cuts off what uses it, or choose another name", r.Wanted.ID, user, name)
	}
	r.planGrants(&plan, found.grants)
	if r.isOwn() && len(plan.sentences) > 0 {
		return plan, r.refuseOwn(strings.Join(plan.sentences, "; "))
	}
	return plan, nil
}

// isFormer reports whether the token that exists is [HostTokenRun.Former]: by the hash in its mark, or, if its comment was changed by hand, by
// a login.
func (r HostTokenRun) isFormer(ctx context.Context, hash string) bool {
	if r.Former == "" {
		return false
	}
	if _, own := hostspec.MarkIn(r.Wanted.CommentOf(r.Former)); own == hash {
		return true
	}
	former := r.Connection
	former.Token = r.Former
	_, err := former.Reach(ctx)
	return err == nil
}

// planGrants adds changes for the permissions that the token lacks, and for those that it has but should not have.
func (r HostTokenRun) planGrants(plan *tokenPlan, all []hostspec.Grant) {
	for _, grant := range r.Wanted.Grants {
		if plan.create || !slices.Contains(all, grant) {
			plan.grants = append(plan.grants, grantChange("permission: "+grant.String(), grant, false))
		}
	}
	for _, grant := range all {
		same := func(g hostspec.Grant) bool { return g.Entry() == grant.Entry() }
		if !plan.create && grant.Kind == hostspec.HolderToken && grant.Holder == r.Wanted.ID && !slices.ContainsFunc(r.Wanted.Grants, same) {
			plan.grants = append(plan.grants, grantChange("permission is taken away: "+grant.String(), grant, true))
		}
	}
	for _, change := range plan.grants {
		plan.say("%s", change.sentence)
	}
}

func tokenDifferences(present, wanted TokenSettings) []string {
	var differences []string
	if present.Comment != wanted.Comment {
		differences = append(differences, fmt.Sprintf("comment %q → %q", present.Comment, wanted.Comment))
	}
	if present.Expire != wanted.Expire {
		differences = append(differences, fmt.Sprintf("expires %s → %s", endOf(present.Expire), endOf(wanted.Expire)))
	}
	if present.Separated != wanted.Separated {
		differences = append(differences, fmt.Sprintf("privileges of its own %t → %t", present.Separated, wanted.Separated))
	}
	return differences
}
