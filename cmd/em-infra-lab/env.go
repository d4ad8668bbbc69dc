package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/command"
)

func newEnvCommand() *cobra.Command {
	p := &place{}
	c := &cobra.Command{
		Use:   "env",
		Short: "Print where the lab is and what opens it, for a shell",
		Long: `Print where the lab is and what opens it, for a shell. PROXMOX_VE_* are what the Terraform provider bpg/proxmox reads; LAB_*
are for whatever else is tested: the password of root@pam, the URL of the emulated Image Factory, and the loopback network that the
VMs must have their addresses in to be reached.`,
		Example: `  eval "$(em-infra-lab env)"`,
		RunE: func(c *cobra.Command, _ []string) error {
			d, _, err := command.Described(p)
			if err != nil {
				return err
			}
			return printEnv(c.OutOrStdout(), d)
		},
	}
	p.Bind(c)
	return c
}

// printEnv quotes values that a shell would interpret; only the token contains such a character.
func printEnv(out io.Writer, d lab.Description) error {
	_, err := fmt.Fprintf(out, `export PROXMOX_VE_ENDPOINT=%s
export PROXMOX_VE_API_TOKEN='%s'
export PROXMOX_VE_INSECURE=true
export LAB_ROOT_PASSWORD=%s
export LAB_IMAGE_FACTORY=%s
export LAB_NETWORK=%s
`, d.ProxmoxEndpoint(), d.Token, d.Password, d.FactoryURL(), d.Network)
	return err
}
