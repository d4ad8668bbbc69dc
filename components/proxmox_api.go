package components

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// ProxmoxAPI is the connection to Proxmox VE for operations that no resource of the provider covers. A change runs its Commands
// again, which first check whether there is anything to do.
type ProxmoxAPI struct {
	// Endpoint is the URL of the API, e.g. https://vmhost:8006. Required.
	Endpoint string
	// Token is USER@REALM!NAME=SECRET. Required, secret.
	Token pulumi.StringInput
	// Insecure accepts any certificate of the API. Default: false.
	Insecure bool
}

// environment passes the connection to a Command: unlike arguments, an environment is not visible in the list of processes.
func (a ProxmoxAPI) environment() pulumi.StringMap {
	return pulumi.StringMap{
		"EM_INFRA_PROXMOX_ENDPOINT": pulumi.String(a.Endpoint),
		"EM_INFRA_PROXMOX_TOKEN":    pulumi.ToSecret(a.Token).(pulumi.StringOutput),
		"EM_INFRA_PROXMOX_INSECURE": pulumi.Sprintf("%t", a.Insecure),
	}
}

func (a ProxmoxAPI) validate() error {
	return errors.Join(
		require(a.Endpoint != "", "API.Endpoint", "give the URL of the API, e.g. https://vmhost:8006"),
		require(a.Token != nil, "API.Token", "give the API token"),
	)
}

// word matches text that a shell takes as a single word.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// requireWord refuses text that a shell does not read as a single word; empty text is refused elsewhere.
func requireWord(text, argument string) error {
	return require(text == "" || word.MatchString(text), argument, fmt.Sprintf("%q: use letters, digits, . _ and -", text))
}
