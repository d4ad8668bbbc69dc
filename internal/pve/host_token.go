package pve

import (
	"context"
	"errors"
	"fmt"
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
	// Former is USER@REALM!NAME=SECRET as an earlier Apply has returned it; empty if there was none. Only such a token is changed or deleted.
	Former string
}

// Apply makes the token what is wanted, and returns USER@REALM!NAME=SECRET. A token that a killed run has made, and whose secret is lost with
// it, is made anew. One that was not made here is refused.
func (r HostTokenRun) Apply(ctx context.Context) (string, error) {
	tokens, plan, err := r.look(ctx)
	if err != nil {
		return "", err
	}
	if err := r.checkOwn(plan.sentences); err != nil {
		return "", err
	}
	token := r.Former
	if plan.remove {
		if err := tokens.Delete(ctx, r.Wanted.ID); err != nil {
			return "", err
		}
	}
	switch {
	case plan.create:
		if token, err = tokens.Create(ctx, r.Wanted.ID, r.settings()); err != nil {
			return "", err
		}
	case plan.change:
		if err := tokens.Change(ctx, r.Wanted.ID, r.settings()); err != nil {
			return "", err
		}
	}
	for _, change := range plan.grants {
		if err := change.call(ctx, tokens.client); err != nil {
			return "", fmt.Errorf("%s: not done (%w): mend that, then run up again, which goes on from there", change.sentence, err)
		}
	}
	return token, nil
}

// Foresee returns what Apply would do, a sentence each, and the refusal that it would begin with. It changes nothing.
func (r HostTokenRun) Foresee(ctx context.Context) ([]string, error) {
	_, plan, err := r.look(ctx)
	if err != nil {
		return nil, err
	}
	return plan.sentences, r.checkOwn(plan.sentences)
}

// Differences returns what differs from the wanted token, a sentence each.
func (r HostTokenRun) Differences(ctx context.Context) ([]string, error) {
	r.Former = r.Wanted.ID // it is one that was made here
	_, plan, err := r.look(ctx)
	return plan.sentences, err
}

// Release deletes the token if it was made here.
func (r HostTokenRun) Release(ctx context.Context) error {
	if r.Former == "" {
		return nil
	}
	tokens, plan, err := r.look(ctx)
	if err != nil || plan.create {
		return err // it is gone
	}
	if err := r.checkOwn([]string{"it is deleted"}); err != nil {
		return err
	}
	return tokens.Delete(ctx, r.Wanted.ID)
}

// checkOwn refuses changes of the token of the connection.
func (r HostTokenRun) checkOwn(sentences []string) error {
	own, _, _ := strings.Cut(r.Connection.Token, "=")
	if own != r.Wanted.ID || len(sentences) == 0 {
		return nil
	}
	return fmt.Errorf("the token %s is the one that this run works with, and is not touched (%s): run this with the token of another user", own, strings.Join(sentences, "; "))
}

func (r HostTokenRun) settings() TokenSettings {
	return TokenSettings{Comment: r.Wanted.FullComment(), Expire: r.Wanted.Expires, Separated: r.Wanted.Separated}
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

func (r HostTokenRun) look(ctx context.Context) (Tokens, tokenPlan, error) {
	tokens, err := NewTokens(r.Connection)
	if err != nil {
		return Tokens{}, tokenPlan{}, err
	}
	access, err := readAccess(ctx, Reader(tokens))
	if err != nil {
		return Tokens{}, tokenPlan{}, err
	}
	user, _ := hostspec.TokenOf(r.Wanted.ID)
	if _, exists := access.user(user); !exists { // the same run makes it; Proxmox VE refuses questions about users that do not exist
		plan, err := r.plan(TokenSettings{}, false, access.grants)
		return tokens, plan, err
	}
	present, found, err := tokens.Find(ctx, r.Wanted.ID)
	if err != nil {
		return Tokens{}, tokenPlan{}, explainedToken(r.Wanted.ID, err)
	}
	plan, err := r.plan(present, found, access.grants)
	return tokens, plan, err
}

func explainedToken(id string, err error) error {
	if errors.Is(err, ErrForbidden) {
		return fmt.Errorf("the token of this run may not manage the token %s: give it User.Modify on /access/groups, then run again", id)
	}
	return err
}

func (r HostTokenRun) plan(present TokenSettings, found bool, all []hostspec.Grant) (plan tokenPlan, err error) {
	user, name := hostspec.TokenOf(r.Wanted.ID)
	isOurs := strings.HasSuffix(present.Comment, r.Wanted.Mark())
	switch {
	case !found:
		plan.create = true
		plan.say("token %s is made", r.Wanted.ID)
	case r.Former == "" && isOurs:
		plan.remove, plan.create = true, true
		plan.say("token %s is made anew: a run that was killed has made it, and its secret is lost", r.Wanted.ID)
	case r.Former == "":
		return plan, fmt.Errorf("the token %s exists and was not made here, and Proxmox VE shows a secret only once: delete it with `pveum user token remove %s %s`, or choose another name", r.Wanted.ID, user, name)
	case present != r.settings():
		plan.change = true
		plan.say("token %s is changed: %s", r.Wanted.ID, strings.Join(tokenDifferences(present, r.settings()), ", "))
	}
	for _, grant := range r.Wanted.Grants {
		if plan.create || !slices.Contains(all, grant) {
			plan.grants = append(plan.grants, accessChange{"permission: " + grant.String(), "PUT", "/access/acl", grantParams(grant, false), "", ""})
		}
	}
	for _, grant := range all {
		if !plan.create && grant.Kind == hostspec.HolderToken && grant.Holder == r.Wanted.ID && !r.wants(grant) {
			plan.grants = append(plan.grants, accessChange{"permission is taken away: " + grant.String(), "PUT", "/access/acl", grantParams(grant, true), "", ""})
		}
	}
	for _, change := range plan.grants {
		plan.say("%s", change.sentence)
	}
	return plan, nil
}

// wants reports whether a permission of the token is wanted, with whatever reach: a change of the reach replaces the entry.
func (r HostTokenRun) wants(grant hostspec.Grant) bool {
	return slices.ContainsFunc(r.Wanted.Grants, func(w hostspec.Grant) bool { return w.Path == grant.Path && w.Role == grant.Role })
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
