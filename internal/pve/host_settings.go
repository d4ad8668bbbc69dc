package pve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// HostSettingsRun sets what a host always has: its time zone, names in /etc/hosts, and its standard repositories of packages.
type HostSettingsRun struct {
	// Connection to Proxmox VE.
	Connection Connection
	// Wanted are the settings.
	Wanted hostspec.HostSettings
	// Made are the lines of /etc/hosts that this stack has added, as ADDRESS NAME…. Nothing else is taken away.
	Made []string
}

// settingsPlan is what an Apply does on a host.
type settingsPlan struct {
	client   *proxmox.Client
	timeZone change
	// names is the present text of /etc/hosts, and the wanted one.
	names  change
	digest string // of the present text
	// repositories as they are, and the ones to change.
	present      repositories
	repositories []hostspec.Repository
	// made are the lines that are this stack's afterwards.
	made []string
	// sentences say what differs.
	sentences []string
}

// change is a setting before and after.
type change struct{ from, to string }

func (c change) isNone() bool { return c.from == c.to }

// Apply brings the host to what is wanted, and returns the lines of /etc/hosts that this stack has added.
func (r HostSettingsRun) Apply(ctx context.Context) ([]string, error) {
	plan, err := r.plan(ctx)
	if err != nil {
		return r.Made, err
	}
	return plan.made, r.carryOut(ctx, plan)
}

// Foresee returns what Apply would do, a sentence each, and the refusal that it would begin with. It changes nothing.
func (r HostSettingsRun) Foresee(ctx context.Context) ([]string, error) {
	plan, err := r.plan(ctx)
	if err == nil && len(plan.sentences) > 0 {
		err = mayModify(ctx, plan.client, "/nodes/"+r.Wanted.Node, "the settings of "+r.Wanted.Node)
	}
	return plan.sentences, err
}

// Differences returns what differs from the wanted settings, a sentence each.
func (r HostSettingsRun) Differences(ctx context.Context) ([]string, error) {
	plan, err := r.plan(ctx)
	return plan.sentences, err
}

// Release removes the names that this stack has added. Time zone and repositories stay as they are.
func (r HostSettingsRun) Release(ctx context.Context) error {
	r.Wanted = hostspec.HostSettings{Node: r.Wanted.Node}
	_, err := r.Apply(ctx)
	return err
}

func (r HostSettingsRun) plan(ctx context.Context) (settingsPlan, error) {
	client, err := r.Connection.Client()
	if err != nil {
		return settingsPlan{}, err
	}
	plan := settingsPlan{client: client}
	for _, read := range []func(context.Context, *settingsPlan) error{r.planTimeZone, r.planNames, r.planRepositories} {
		if err := read(ctx, &plan); err != nil {
			return settingsPlan{}, err
		}
	}
	return plan, nil
}

func (r HostSettingsRun) planTimeZone(ctx context.Context, plan *settingsPlan) error {
	want := r.Wanted.TimeZone
	if want == "" {
		return nil
	}
	var now struct{ TimeZone string }
	if err := plan.client.Get(ctx, nodePath(r.Wanted.Node, "time"), &now); err != nil {
		return r.unread("the time zone", "/nodes/"+r.Wanted.Node, err)
	}
	plan.timeZone = change{now.TimeZone, want}
	if !plan.timeZone.isNone() {
		plan.sentences = append(plan.sentences, fmt.Sprintf("time zone: %s instead of %s", now.TimeZone, want))
	}
	return nil
}

func (r HostSettingsRun) planNames(ctx context.Context, plan *settingsPlan) error {
	if len(r.Wanted.Names) == 0 && len(r.Made) == 0 {
		return nil
	}
	var present struct{ Data, Digest string }
	if err := plan.client.Get(ctx, nodePath(r.Wanted.Node, "hosts"), &present); err != nil {
		return r.unread("/etc/hosts", "/", err) // pve-manager, PVE/API2/Nodes.pm, get_etc_hosts
	}
	file := parseHostsFile(present.Data)
	isOf := func(want hostspec.HostNames) func(string) bool {
		return func(made string) bool { return strings.HasPrefix(made, want.Address.String()+" ") }
	}
	leftOut := slices.DeleteFunc(slices.Clone(r.Made), func(made string) bool {
		return slices.ContainsFunc(r.Wanted.Names, func(want hostspec.HostNames) bool { return isOf(want)(made) })
	})
	wanted, err := file.without(leftOut, r.Wanted.Node).with(r.Wanted.Names, r.Wanted.Node)
	if err != nil {
		return err
	}
	for _, want := range r.Wanted.Names {
		if slices.ContainsFunc(r.Made, isOf(want)) || file.lineOf(want.Address) < 0 {
			plan.made = append(plan.made, want.Address.String()+" "+strings.Join(want.Names, " "))
		}
	}
	if file.String() != wanted.String() {
		if err := wanted.check(r.Wanted.Node); err != nil {
			return err
		}
	}
	plan.names, plan.digest = change{file.String(), wanted.String()}, present.Digest
	plan.sentences = append(plan.sentences, file.differences(wanted)...)
	return nil
}

func (r HostSettingsRun) planRepositories(ctx context.Context, plan *settingsPlan) (err error) {
	if len(r.Wanted.Repositories) == 0 {
		return nil
	}
	if plan.present, err = readRepositories(ctx, plan.client, r.Wanted.Node); err != nil {
		return r.unread("the repositories of packages", "/nodes/"+r.Wanted.Node, err)
	}
	for _, want := range r.Wanted.Repositories {
		have, err := plan.present.find(want.Handle)
		switch {
		case err != nil && want.Enabled:
			return fmt.Errorf("%s %w", r.Wanted.Node, err)
		case have.isEnabled() != want.Enabled:
			plan.repositories = append(plan.repositories, want)
			plan.sentences = append(plan.sentences, fmt.Sprintf("repository %s: %s instead of %s", want.Handle, hostspec.OnOrOff(have.isEnabled()), hostspec.OnOrOff(want.Enabled)))
		}
	}
	return nil
}

func (r HostSettingsRun) carryOut(ctx context.Context, plan settingsPlan) error {
	node := r.Wanted.Node
	if !plan.timeZone.isNone() {
		if err := plan.client.Put(ctx, nodePath(node, "time"), map[string]string{"timezone": plan.timeZone.to}, nil); err != nil {
			return r.refusal("its time zone", "see `timedatectl list-timezones` on the host", err)
		}
	}
	for _, want := range plan.repositories {
		if err := setRepository(ctx, plan.client, node, want); err != nil {
			return r.refusal("its repository "+want.Handle, "see Updates > Repositories of the host", err)
		}
	}
	// The names come last: an error after they are written would lose which lines are this stack's, since a Command that fails keeps no output.
	if !plan.names.isNone() {
		params := map[string]string{"data": plan.names.to, "digest": plan.digest}
		if err := plan.client.Post(ctx, nodePath(node, "hosts"), params, nil); err != nil {
			return r.refusal("its /etc/hosts", "another user may have changed the file at the same time", err)
		}
	}
	return nil
}

func (r HostSettingsRun) unread(what, path string, err error) error {
	if proxmox.IsNotAuthorized(err) {
		return fmt.Errorf("%s of %s cannot be read: give the token the privilege Sys.Audit on %s, then run again", what, r.Wanted.Node, path)
	}
	return r.Connection.explain(err)
}

func (r HostSettingsRun) refusal(what, remedy string, err error) error {
	if proxmox.IsNotAuthorized(err) {
		return fmt.Errorf("the token may not change the settings of %[1]s: give it the privilege Sys.Modify on /nodes/%[1]s, then run up again", r.Wanted.Node)
	}
	return fmt.Errorf("%s does not change %s (%w): %s, then run up again", r.Wanted.Node, what, withoutURL(err), remedy)
}
