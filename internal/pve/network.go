package pve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/poll"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// NetworkRun changes the network of one host: everything is staged, shown as the host's own diff, and applied with one reload.
type NetworkRun struct {
	// Connection to Proxmox VE.
	Connection Connection
	// Wanted is what the host is to have.
	Wanted hostspec.Network
	// Allowed are interfaces on the way to the API that may be changed, as HOST/INTERFACE.
	Allowed []string
	// Say receives a sentence or a diff for each step.
	Say func(string)
	// releases is whether the run deletes for good what this stack has created, as a destroy does; no interface can be allowed for that.
	releases bool
	// patience is how long a reload may take; 0 for the default.
	patience time.Duration
}

// AllowInterfacesVariable passes [NetworkRun.Allowed] from em-infra to the Commands that the engine runs, with commas between them. It is in no
// input of a Command, so that a permission holds for one run.
const AllowInterfacesVariable = "EM_INFRA_ALLOW_INTERFACES"

// reloadPatience covers bridges that wait for their ports, and an API that is away for a while.
const reloadPatience = 2 * time.Minute

// Apply brings the host's interfaces to what is wanted, and deletes those that the stack has created and does not want any more. It reports
// whether anything was changed. It refuses, with nothing staged, what would touch the way to the API without permission, changes that
// another user has staged, and the deletion of what is in use.
func (r NetworkRun) Apply(ctx context.Context) (changed bool, err error) {
	client, present, plan, err := r.plan(ctx)
	if err != nil {
		return false, err
	}
	if err := r.stage(ctx, client, present, plan); err != nil {
		return false, err
	}
	diff, err := r.staged(ctx)
	if err != nil || diff == "" {
		return false, err
	}
	r.Say("the network of " + r.Wanted.Node + " changes:\n" + diff)
	return true, r.reload(ctx, client)
}

// Foresee returns what Apply would do, and the refusal that it would begin with. It changes nothing.
func (r NetworkRun) Foresee(ctx context.Context) (NetworkPlan, error) {
	_, _, plan, err := r.plan(ctx)
	return plan, err
}

// plan returns the present interfaces and what has to be staged. The error is the refusal of it.
func (r NetworkRun) plan(ctx context.Context) (*proxmox.Client, []NetworkInterface, NetworkPlan, error) {
	client, present, err := r.look(ctx)
	if err != nil {
		return nil, nil, NetworkPlan{}, err
	}
	staged, err := r.settleStaged(ctx, present)
	if err != nil {
		return nil, nil, NetworkPlan{}, err
	}
	plan := planNetwork(present, r.Wanted)
	if err := r.check(ctx, client, present, staged, plan); err != nil {
		return nil, nil, plan, err
	}
	if staged.diff != "" {
		r.Say("a run that was killed has staged changes of the network of " + r.Wanted.Node + ": they are part of this one")
	}
	return client, present, plan, nil
}

// Release deletes the interfaces that this stack has created. Those that were there before stay as they are.
func (r NetworkRun) Release(ctx context.Context) (changed bool, err error) {
	r.Wanted.Interfaces, r.releases = nil, true
	return r.Apply(ctx)
}

// Differences returns what differs from the wanted interfaces, a sentence each.
func (r NetworkRun) Differences(ctx context.Context) ([]string, error) {
	_, present, err := r.look(ctx)
	if err != nil {
		return nil, err
	}
	var sentences []string
	for _, want := range r.Wanted.Interfaces {
		have, there := interfaceNamed(present, want.Name)
		if !there {
			sentences = append(sentences, want.Name+" is absent")
			continue
		}
		for _, difference := range have.Differences(commented(present, r.Wanted, want)) {
			sentences = append(sentences, want.Name+": "+difference)
		}
	}
	for _, one := range lacking(present, r.Wanted) {
		have, _ := interfaceNamed(present, one.Name)
		sentences = append(sentences, fmt.Sprintf("%s: mtu: %s instead of %d, which %s on it has", one.Name, orNone(have.MTU), one.MTU, one.For))
	}
	return sentences, nil
}

func (r NetworkRun) path(rest string) string { return nodePath(r.Wanted.Node, "network") + rest }

// look returns the present interfaces of the host.
func (r NetworkRun) look(ctx context.Context) (client *proxmox.Client, present []NetworkInterface, err error) {
	if client, err = r.Connection.Client(); err != nil {
		return nil, nil, err
	}
	if err := client.Get(ctx, r.path(""), &present); err != nil {
		return nil, nil, fmt.Errorf("the network of %s cannot be read (%w): see that the host answers and that the token has Sys.Audit on /nodes/%[1]s", r.Wanted.Node, withoutURL(err))
	}
	return client, present, nil
}

// staged returns the diff between the active and the staged interfaces of the host; empty if nothing is staged.
func (r NetworkRun) staged(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, Origin(r.Connection.Endpoint)+"/api2/json"+r.path(""), nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "PVEAPIToken="+r.Connection.Token)
	response, err := r.Connection.httpClient(requestTimeout).Do(request)
	if err != nil {
		return "", fmt.Errorf("the staged network of %s cannot be read (%w): see that the host answers, then run up again", r.Wanted.Node, withoutURL(err))
	}
	defer response.Body.Close()
	// Beside the data, the daemon answers with the changes (pve-manager, PVE/API2/Network.pm, index).
	var answer struct {
		Changes string `json:"changes"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("the staged network of %s cannot be read (%w): see that the host answers, then run up again", r.Wanted.Node, err)
	}
	return answer.Changes, nil
}

// settleStaged returns changes that a killed run of this stack has staged, which the plan continues, and refuses those of any other user.
func (r NetworkRun) settleStaged(ctx context.Context, present []NetworkInterface) (stagedChanges, error) {
	diff, err := r.staged(ctx)
	if err != nil || diff == "" {
		return stagedChanges{}, err
	}
	found := stagedChanges{diff, changedInterfaces(diff, r.Wanted.Mark())}
	var others []string
	for _, one := range found.interfaces {
		if _, isWanted := r.Wanted.Named(one.name); !isWanted && !one.marked && !one.raisesFor(present, r.Wanted) {
			others = append(others, orUnknown(one.name))
		}
	}
	if len(others) == 0 {
		return found, nil
	}
	return stagedChanges{}, fmt.Errorf("another user has staged changes of the network of %[1]s that are not this stack's (%[2]s), and nothing was touched: apply or revert them on %[1]s under System, Network, then run up again. They are:\n%[3]s",
		r.Wanted.Node, strings.Join(others, ", "), diff)
}

func orUnknown(name string) string {
	if name == "" {
		return "an interface that the diff does not name"
	}
	return name
}

// reload applies what is staged and waits for the end of its task, during which the API may be away.
func (r NetworkRun) reload(ctx context.Context, client *proxmox.Client) error {
	var task string
	if err := client.Put(ctx, r.path(""), nil, &task); err != nil {
		return fmt.Errorf("the reload of the network of %s was not begun (%w), and the changes are staged: see why, then run up again, which continues", r.Wanted.Node, withoutURL(err))
	}
	patience := r.patience
	if patience == 0 {
		patience = reloadPatience
	}
	bounded, cancel := context.WithTimeoutCause(ctx, patience, errors.New("it took longer than "+patience.String()))
	defer cancel()
	var status struct {
		Status string `json:"status"`
		Exit   string `json:"exitstatus"`
	}
	err := poll.Until(bounded, time.Second, func(ctx context.Context) (bool, error) {
		err := client.Get(ctx, nodePath(r.Wanted.Node, "tasks/"+url.PathEscape(task)+"/status"), &status)
		return err == nil && status.Status == "stopped", nil // the connection can break while interfaces are reloaded
	})
	if err == nil && !isSuccess(status.Exit) {
		err = errors.New(status.Exit)
	}
	if err != nil {
		return fmt.Errorf("the reload of the network of %[1]s failed (%[2]w): /etc/network/interfaces has the new interfaces, and the kernel perhaps only a part of them: look at the task %[3]s, mend what it names, run `ifreload -a` on %[1]s, then run up again",
			r.Wanted.Node, err, task)
	}
	return nil
}
