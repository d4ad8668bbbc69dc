package pve

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// DefinitionRun makes, changes and removes a metric server or a backup job.
type DefinitionRun struct {
	// Connection to Proxmox VE.
	Connection Connection
	// Wanted is the definition.
	Wanted hostspec.Definition
	// Secret of the definition; empty for none. Proxmox VE does not read it back, so every Apply sets it.
	Secret string
	// Made is whether this stack has made the definition. Only such a one is removed.
	Made bool
}

// DefinitionSecretVariable passes [DefinitionRun.Secret] to the Commands that the engine runs.
const DefinitionSecretVariable = "EM_INFRA_HOST_DEFINITION_SECRET"

// kindOfDefinition describes how the API handles a kind of definition.
type kindOfDefinition struct {
	list   string // path of all
	secret string // name of the parameter
	// idInPath is whether a new one is made at its own path.
	idInPath bool
	// remedy is what to do if Proxmox VE refuses one.
	remedy string
}

// kindsOfDefinitions are the kinds (pve-manager, PVE/API2/Cluster/MetricServer.pm and PVE/API2/Backup.pm).
var kindsOfDefinitions = map[hostspec.Kind]kindOfDefinition{
	hostspec.MetricServer: {
		list: "/cluster/metrics/server", secret: "token", idInPath: true,
		remedy: "the host tries to reach the server when it is defined, so see that it answers there",
	},
	hostspec.BackupJob: {
		list:   "/cluster/backup",
		remedy: "see that its storage takes backups and that its pool is there",
	},
}

// Apply makes the definition, or changes the one that is there to what is wanted. It refuses, with nothing changed, if Proxmox VE would have to
// create the definition anew.
func (r DefinitionRun) Apply(ctx context.Context) (Outcome, error) { return applyDefinition(ctx, r) }

// Foresee returns a sentence about what Apply would do, and the refusal that it would begin with. It changes nothing.
func (r DefinitionRun) Foresee(ctx context.Context) (string, error) { return foreseeDefinition(ctx, r) }

// Differences returns what differs from the wanted definition, a sentence each.
func (r DefinitionRun) Differences(ctx context.Context) ([]string, error) {
	return definitionDifferences(ctx, r)
}

// Release removes the definition if this stack has made it. Metrics that were sent and backups that were made stay.
func (r DefinitionRun) Release(ctx context.Context) (Outcome, error) {
	return releaseDefinition(ctx, r)
}

// String returns the definition in a message.
func (r DefinitionRun) String() string { return r.Wanted.String() }

func (r DefinitionRun) settings() (fixed, changeable []hostspec.Setting) {
	return r.Wanted.Fixed, r.Wanted.Settings
}

func (r DefinitionRun) isMade() bool { return r.Made }

func (r DefinitionRun) hasSecret() bool { return r.Secret != "" }

func (r DefinitionRun) separator() string { return "; " }

func (r DefinitionRun) kind() kindOfDefinition { return kindsOfDefinitions[r.Wanted.Kind] }

func (r DefinitionRun) path() string { return r.kind().list + "/" + url.PathEscape(r.Wanted.ID) }

// look returns the present definition; nil if there is none.
func (r DefinitionRun) look(ctx context.Context) (*proxmox.Client, definition, error) {
	client, err := r.Connection.Client()
	if err != nil {
		return nil, nil, err
	}
	var all []definition
	if err := client.Get(ctx, r.kind().list, &all); err != nil {
		if proxmox.IsNotAuthorized(err) {
			return nil, nil, fmt.Errorf("the token may not read the %ss: give it the privilege Sys.Audit on /", r.Wanted.Kind)
		}
		return nil, nil, r.Connection.explain(err)
	}
	if !slices.ContainsFunc(all, func(one definition) bool { return one["id"] == r.Wanted.ID }) {
		return client, nil, nil
	}
	var present definition // the list of metric servers leaves settings out
	if err := client.Get(ctx, r.path(), &present); err != nil {
		return nil, nil, r.Connection.explain(err)
	}
	return client, present, nil
}

func (r DefinitionRun) refuseFixed(differences []string) error {
	return fmt.Errorf("the %s is there with other settings (%s), which Proxmox VE never changes: correct it in the inventory, or choose another name for it",
		r.Wanted, strings.Join(differences, ", "))
}

func (r DefinitionRun) create(ctx context.Context, client *proxmox.Client) error {
	path, params := r.path(), r.withSecret(paramsOf(slices.Concat(r.settings())))
	delete(params, "delete") // nothing is there yet
	if !r.kind().idInPath {
		path, params["id"] = r.kind().list, r.Wanted.ID
	}
	if err := client.Post(ctx, path, params, nil); err != nil {
		return r.refusal(ctx, client, "made", err)
	}
	return nil
}

func (r DefinitionRun) change(ctx context.Context, client *proxmox.Client) error {
	if err := client.Put(ctx, r.path(), r.withSecret(paramsOf(r.Wanted.Settings)), nil); err != nil {
		return r.refusal(ctx, client, "changed", err)
	}
	return nil
}

func (r DefinitionRun) remove(ctx context.Context, client *proxmox.Client) error {
	if err := client.Delete(ctx, r.path(), nil); err != nil {
		return r.refusal(ctx, client, "removed", err)
	}
	return nil
}

func (r DefinitionRun) withSecret(params map[string]string) map[string]string {
	if r.Secret != "" {
		params[r.kind().secret] = r.Secret
	}
	return params
}

// checkForeseen implements [definitionRun].
func (r DefinitionRun) checkForeseen(ctx context.Context, client *proxmox.Client, present definition) error {
	if present != nil {
		return r.checkPrivileges(ctx, client, present)
	}
	return cmp.Or(r.checkRelease(ctx, client), r.checkPrivileges(ctx, client, nil))
}

// checkRemoval implements [definitionRun]: nothing keeps a metric server or a backup job.
func (DefinitionRun) checkRemoval(context.Context) error { return nil }

// checkRelease refuses what the release of the hosts does not have.
func (r DefinitionRun) checkRelease(ctx context.Context, client *proxmox.Client) error {
	if !slices.Contains(r.Wanted.Fixed, hostspec.Setting{Name: "type", Value: "opentelemetry"}) {
		return nil
	}
	version, err := Reader{client}.Version(ctx)
	if err == nil && strings.HasPrefix(version, "8.") {
		err = fmt.Errorf("the %s is of the type opentelemetry, which Proxmox VE has from 9.0 on, and this is %s: choose another type, or upgrade the hosts", r.Wanted, version)
	}
	return err
}

// checkPrivileges returns an error that names what the token lacks to make the definition, or to change the present one (pve-manager,
// PVE/API2/Backup.pm, assert_param_permission_create and _update).
func (r DefinitionRun) checkPrivileges(ctx context.Context, client *proxmox.Client, present definition) error {
	if err := mayModify(ctx, client, "/", "the "+string(r.Wanted.Kind)+"s"); err != nil {
		return err
	}
	if r.Wanted.Kind != hostspec.BackupJob {
		return nil
	}
	for _, storage := range slices.Compact([]string{r.Wanted.Value("storage"), present["storage"]}) {
		mine, err := Reader{client}.Privileges(ctx, "/storage/"+storage)
		if err == nil && storage != "" && !slices.Contains(mine, "Datastore.Allocate") {
			err = fmt.Errorf("the token may not make the %[1]s back up to %[2]s: give it the privilege Datastore.Allocate on /storage/%[2]s, then run again", r.Wanted, storage)
		}
		if err != nil {
			return err
		}
	}
	pool := r.Wanted.Value("pool")
	if pool == "" {
		return nil
	}
	mine, err := Reader{client}.Privileges(ctx, "/pool/"+pool)
	if err == nil && !slices.Contains(mine, "VM.Backup") {
		err = fmt.Errorf("the token may not back up the pool of the %s: as root on the host, `pveum role modify %s --append 1 --privs \"%s\"`, or give it VM.Backup on /pool/%s by another role, then run again", r.Wanted, role.Name, "VM.Backup", pool)
	}
	return err
}

// refusal is the error of a call that Proxmox VE has refused.
func (r DefinitionRun) refusal(ctx context.Context, client *proxmox.Client, verb string, err error) error {
	if proxmox.IsNotAuthorized(err) {
		if lacking := r.checkPrivileges(ctx, client, nil); lacking != nil {
			return lacking
		}
	}
	return fmt.Errorf("the %s cannot be %s (%w): %s, then run up again", r.Wanted, verb, withoutURL(err), r.kind().remedy)
}
