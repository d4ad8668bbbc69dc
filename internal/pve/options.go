package pve

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// OptionsRun sets options of the whole cluster. They stay when the stack is destroyed, since a cluster always has them.
type OptionsRun struct {
	// Connection to Proxmox VE.
	Connection Connection
	// Wanted are the options.
	Wanted hostspec.Options
}

const optionsPath = "/cluster/options"

// Apply brings the options to what is wanted, with one call, and reports whether it was needed.
func (r OptionsRun) Apply(ctx context.Context) (bool, error) {
	client, present, err := r.look(ctx)
	if err != nil || len(present.differences(r.Wanted)) == 0 {
		return false, err
	}
	if err := client.Put(ctx, optionsPath, paramsOf(r.Wanted), nil); err != nil {
		if proxmox.IsNotAuthorized(err) {
			err = errors.New("the token lacks the privilege Sys.Modify on /")
		}
		return false, fmt.Errorf("the options of the cluster cannot be changed, and are as they were (%w): mend that, then run up again", withoutURL(err))
	}
	return true, nil
}

// Foresee returns what Apply would do, a sentence each, and what the token lacks for it. It changes nothing.
func (r OptionsRun) Foresee(ctx context.Context) ([]string, error) {
	client, present, err := r.look(ctx)
	if err != nil {
		return nil, err
	}
	differences := present.differences(r.Wanted)
	if len(differences) > 0 {
		err = mayModify(ctx, client, "/", "the options of the cluster")
	}
	return differences, err
}

// Differences returns what differs from the wanted options, a sentence each.
func (r OptionsRun) Differences(ctx context.Context) ([]string, error) {
	_, present, err := r.look(ctx)
	return present.differences(r.Wanted), err
}

// look returns the present options. Without Sys.Audit on / the API shows a few of them only, and says nothing about it (pve-manager,
// PVE/API2/Cluster.pm, get_options), so the privilege is asked for.
func (r OptionsRun) look(ctx context.Context) (*proxmox.Client, definition, error) {
	client, err := r.Connection.Client()
	if err != nil {
		return nil, nil, err
	}
	mine, err := Reader{client}.Privileges(ctx, "/")
	if err != nil {
		return nil, nil, r.Connection.explain(err)
	}
	if !slices.Contains(mine, "Sys.Audit") {
		return nil, nil, errors.New("the options of the cluster cannot be read: give the token the privilege Sys.Audit on /, then run again")
	}
	var present definition
	if err := client.Get(ctx, optionsPath, &present); err != nil {
		return nil, nil, r.Connection.explain(err)
	}
	if proxy, err := url.Parse(present["http_proxy"]); err == nil && proxy.User != nil {
		proxy.User = url.User("SOMEBODY") // it may have a password, and what differs is shown
		present["http_proxy"] = proxy.String()
	}
	return client, present, nil
}

// mayModify returns an error that names the privilege if the token may not change what is configured on a path.
func mayModify(ctx context.Context, client *proxmox.Client, path, what string) error {
	mine, err := Reader{client}.Privileges(ctx, path)
	if err == nil && !slices.Contains(mine, "Sys.Modify") {
		err = fmt.Errorf("the token may not change %s: give it the privilege Sys.Modify on %s, then run again", what, path)
	}
	return err
}
