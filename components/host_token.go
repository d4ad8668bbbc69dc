package components

import (
	"errors"
	"time"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// HostToken is an API token for another program. Its secret is in the state of the stack, sealed, and in [ProxmoxHost.Tokens]. A token that
// exists and was not made here is refused, since Proxmox VE shows a secret only once.
type HostToken struct {
	// User is USER@REALM. Required. A change makes another token, with another secret.
	User string
	// Name of the token. Required. A change makes another token, with another secret.
	Name string
	// Comment of the token; the name of the stack's resources follows it. Default: none. A change is applied in place.
	Comment string
	// Expires is when the token ends. Default: never. A change is applied in place, and at once.
	Expires time.Time
	// Separated is whether the token has the privileges of its Permissions alone, and not those of its user. Default: false. A change is applied
	// in place, and at once.
	Separated bool
	// Permissions are all that a separated token has; it has only those that its user has, too. Default: none. A change is applied in place.
	Permissions []HostPermission
}

// ID returns USER@REALM!NAME.
func (t HostToken) ID() string { return t.User + "!" + t.Name }

// newHostToken registers the Command that makes a token. Its output is the token with its secret: it is not logged, and a secret in the state.
func newHostToken(ctx *pulumi.Context, name, owner string, token HostToken, api ProxmoxAPI, opts ...pulumi.ResourceOption) (*local.Command, error) {
	environment := api.environment()
	environment["EM_INFRA_HOST_TOKEN"] = pulumi.String(token.Spec(owner).Text())
	return local.NewCommand(ctx, name, &local.CommandArgs{
		Create:      pulumi.String(Tool + " host token apply"),
		Delete:      pulumi.String(Tool + " host token release"),
		Environment: environment,
		Logging:     local.LoggingStderr,
	}, append(opts, pulumi.AdditionalSecretOutputs([]string{"stdout"}))...)
}

// HostTokenName returns the logical name of a token.
func HostTokenName(name string, token HostToken) string {
	return name + "-token-" + token.ID()
}

// Spec returns the token in the form that the tool reads. owner is the name of the stack's resources.
func (t HostToken) Spec(owner string) hostspec.Token {
	wanted := hostspec.Token{
		ID: t.ID(), Owner: owner, Comment: t.Comment, Separated: t.Separated, Grants: grantsOf(hostspec.HolderToken, t.ID(), t.Permissions),
	}
	if !t.Expires.IsZero() {
		wanted.Expires = t.Expires.Unix()
	}
	return wanted
}

func (t HostToken) validate(at string) error {
	problems := []error{
		requireNew(limits.User, t.User, false, at+".User"), requireNew(limits.Token, t.Name, false, at+".Name"),
		require(t.Separated || len(t.Permissions) == 0, at+".Permissions", "it has those of its user: set Separated, or give them to the user"),
	}
	return errors.Join(append(problems, validatePermissions(t.Permissions, at))...)
}
