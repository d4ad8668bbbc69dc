package pve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/pve/permission"
)

// AccessRun makes and changes roles, groups, users and permissions, and deletes those that its stack has made. It refuses, with nothing
// changed, what would take a privilege from the token that it works with.
type AccessRun struct {
	// Connection to Proxmox VE.
	Connection Connection
	// Wanted is the access control.
	Wanted hostspec.Access
	// Made names what the stack has made, as an earlier Apply has returned it. Nothing else is deleted.
	Made []string
	// Now is the present time. Default: [time.Now].
	Now func() time.Time
}

// Apply changes the access control to what is wanted, and returns the names of what the stack has made. After an error it deletes what it has made
// itself: the state gets no names from a call that fails, and the next Apply would take it for access that was there before.
func (r AccessRun) Apply(ctx context.Context) ([]string, error) {
	client, plan, err := r.plan(ctx, r.Wanted)
	if err != nil {
		return r.Made, err
	}
	made, err := r.carryOut(ctx, client, plan)
	if err == nil {
		return made, nil
	}
	var before, now []string
	for _, name := range made {
		if slices.Contains(r.Made, name) {
			before = append(before, name)
		} else {
			now = append(now, name)
		}
	}
	return before, r.takeBack(ctx, now, err)
}

// takeBack deletes what an Apply has made before an error, which it returns, with what stays if that fails.
func (r AccessRun) takeBack(ctx context.Context, made []string, failed error) error {
	if len(made) == 0 {
		return failed
	}
	r.Made = made
	if err := r.Release(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("%w; what was made before that stays, because %w: delete it in Datacenter > Permissions first, or later runs take it for what was there before: %s", failed, err, strings.Join(made, "; "))
	}
	return failed
}

// Foresee returns what Apply would do, a sentence each, and the refusal that it would begin with, or what the token lacks for it. It changes
// nothing.
func (r AccessRun) Foresee(ctx context.Context) ([]string, error) {
	client, plan, err := r.plan(ctx, r.Wanted)
	if err != nil {
		return nil, err
	}
	return plan.sentences(), plan.checkPrivileges(ctx, Reader{client})
}

// Differences returns what differs from the wanted access control, a sentence each.
func (r AccessRun) Differences(ctx context.Context) ([]string, error) {
	_, plan, err := r.unchecked(ctx, r.Wanted)
	return plan.sentences(), err
}

// Release deletes what the stack has made.
func (r AccessRun) Release(ctx context.Context) error {
	client, plan, err := r.plan(ctx, hostspec.Access{})
	if err != nil {
		return err
	}
	_, err = r.carryOut(ctx, client, plan)
	return err
}

// plan returns the changes to what is wanted. The error is the refusal of those that would lock the token out.
func (r AccessRun) plan(ctx context.Context, wanted hostspec.Access) (*proxmox.Client, accessPlan, error) {
	client, plan, err := r.unchecked(ctx, wanted)
	if err != nil {
		return nil, accessPlan{}, err
	}
	if err := plan.checkNames(wanted); err != nil {
		return nil, accessPlan{}, err
	}
	return client, plan, r.checkLockOut(plan)
}

func (r AccessRun) unchecked(ctx context.Context, wanted hostspec.Access) (*proxmox.Client, accessPlan, error) {
	client, err := r.Connection.Client()
	if err != nil {
		return nil, accessPlan{}, err
	}
	present, err := readAccess(ctx, Reader{client})
	if err != nil {
		return nil, accessPlan{}, err
	}
	return client, planAccess(present, wanted, r.Made), nil
}

// checkLockOut refuses a plan if the token of the connection could do less than before after any of its calls: if the next call is refused, the token
// stays in that state.
func (r AccessRun) checkLockOut(plan accessPlan) error {
	now := time.Now
	if r.Now != nil {
		now = r.Now
	}
	own, _, _ := strings.Cut(r.Connection.Token, "=")
	at := now().Unix()
	before := plan.before.list(at)
	if _, shown := before.Separated[own]; !shown && len(plan.changes) > 0 {
		return fmt.Errorf("proxmox VE does not show the token %s, which this run works with, and what the changes of access would take from it cannot be known: give it Sys.Audit on /access, then run again", own)
	}
	var lost []string
	for _, change := range plan.changes {
		if lost = permission.Lost(before, change.after.list(at), own); len(lost) > 0 {
			break
		}
	}
	if len(lost) == 0 {
		return nil
	}
	const shown = 5
	words := strings.Join(lost[:min(shown, len(lost))], ", ")
	if more := len(lost) - shown; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("the changes of access would take from the token %s, which this run works with: %s (%s): keep what the token stands on, or run this with the token of another user",
		own, words, strings.Join(plan.sentences(), "; "))
}

// carryOut makes the calls, and returns the names of what the stack has made after them.
func (r AccessRun) carryOut(ctx context.Context, client *proxmox.Client, plan accessPlan) ([]string, error) {
	made := slices.DeleteFunc(slices.Clone(r.Made), func(name string) bool { return !plan.before.has(name) })
	for _, change := range plan.changes {
		if err := change.call(ctx, client); err != nil {
			return made, fmt.Errorf("%s: not done (%w): mend that, then run up again", change.sentence, err)
		}
		if change.made != "" {
			made = append(made, change.made)
		}
		made = slices.DeleteFunc(made, func(name string) bool { return name == change.gone })
	}
	return made, nil
}

func (c accessChange) call(ctx context.Context, client *proxmox.Client) error {
	var err error
	switch c.method {
	case http.MethodPost:
		err = client.Post(ctx, c.path, c.params, nil)
	case http.MethodPut:
		err = client.Put(ctx, c.path, c.params, nil)
	default:
		err = client.Delete(ctx, c.path, nil)
	}
	if proxmox.IsNotAuthorized(err) {
		return errors.New("the token may not do that: give it " + joinedNeeds(c.needs()))
	}
	if err != nil {
		return refusalOf(err)
	}
	return nil
}

func (p accessPlan) sentences() []string {
	var sentences []string
	for _, change := range p.changes {
		sentences = append(sentences, change.sentence)
	}
	return sentences
}
