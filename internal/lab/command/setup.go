package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// SetUp returns the command that changes what a person sets at a host itself.
func SetUp(place Place) *cobra.Command {
	var iommu string
	var drivers []string
	command := &cobra.Command{
		Use:   "set-up HOST" + place.Words().Usage,
		Short: "Change what a person sets at the host itself: IOMMU, drivers",
		Long: `Change what a person sets in a host's firmware and as root: what no API of Proxmox VE reaches. The change takes effect at once, and
stays after a restart of the lab. Without a set-up the IOMMU is on, and no driver of the host has a device.`,
		Example: place.Words().example("set-up vmhost --iommu off") + "\n" + place.Words().example("set-up vmhost --driver 0000:01:00.0=nouveau"),
		Args:    OneName("host"),
		RunE: func(command *cobra.Command, args []string) error {
			change, err := setupChange(iommu, drivers)
			if err != nil {
				return Refused(err)
			}
			console, err := console(place)
			if err != nil {
				return err
			}
			if err := console.SetUp(command.Context(), args[0], change); err != nil {
				return byLab(err)
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "%s is set up\n", args[0])
			return err
		},
	}
	command.Flags().StringVar(&iommu, "iommu", "", "turn the IOMMU `on or off` (default: as before, at first on)")
	command.Flags().StringArrayVar(&drivers, "driver", nil, "give a device to a driver of the host, as `ADDRESS=DRIVER`; without DRIVER to none. May be repeated")
	place.Bind(command)
	return command
}

// setupChange parses the flags.
func setupChange(iommu string, drivers []string) (change proxmox.SetupChange, err error) {
	switch iommu {
	case "":
		if len(drivers) == 0 {
			return change, errors.New("nothing is to change: give --iommu on, --iommu off or --driver ADDRESS=DRIVER")
		}
	case "on", "off":
		change.IOMMU = new(iommu == "on")
	default:
		return change, fmt.Errorf("--iommu: %q is neither on nor off: choose one of the two", iommu)
	}
	for _, one := range drivers {
		address, driver, found := strings.Cut(one, "=")
		if !found {
			return change, fmt.Errorf("--driver: %q is no ADDRESS=DRIVER: write it as in 0000:01:00.0=nouveau", one)
		}
		if change.Drivers == nil {
			change.Drivers = map[string]string{}
		}
		change.Drivers[address] = driver
	}
	return change, nil
}
