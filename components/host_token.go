package components

import (
	"errors"
	"fmt"
	"regexp"
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
		Triggers:    pulumi.ToArray([]any{token.ID()}),
	}, append(opts, pulumi.AdditionalSecretOutputs([]string{"stdout"}), pulumi.DeleteBeforeReplace(true))...)
}

// HostTokenName returns the logical name of a token.
func HostTokenName(name string, token HostToken) string {
	return name + "-token-" + notInNames.ReplaceAllString(token.ID(), "-")
}

// notInNames matches what a token's ID has and a logical name should not.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

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
		require(t.User != "", at+".User", "it is missing: give it"), requireName(limits.User, t.User, at+".User"),
		require(t.Name != "", at+".Name", "it is missing: give it"), requireName(limits.Token, t.Name, at+".Name"),
		require(t.Separated || len(t.Permissions) == 0, at+".Permissions", "it has those of its user: set Separated, or give them to the user"),
	}
	for i, p := range t.Permissions {
		problems = append(problems, requireName(limits.AccessPath, p.Path, fmt.Sprintf("%s.Permissions[%d].Path", at, i)),
			requireName(limits.Role, p.Role, fmt.Sprintf("%s.Permissions[%d].Role", at, i)))
	}
	return errors.Join(problems...)
}
