package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
)

// These variables pass an image to the operations that the program's Commands call: a URL can contain characters that are special in a
// shell.
const (
	imageURLVariable      = "EM_INFRA_IMAGE_URL"
	imageChecksumVariable = "EM_INFRA_IMAGE_CHECKSUM"
)

func newImageCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "image",
		Short: "Operations on the images of systems, called by the program's Commands",
	}
	command.AddCommand(newImageEnsureCommand(), newImageTemplateCommand(), newImageReleaseCommand())
	return whileCallerReads(command)
}

// imageHelp says where an operation takes what it needs from.
var imageHelp = fmt.Sprintf("\n\nThe URL is in %s, the checksum as ALGORITHM:HEX in %s; Proxmox VE is reached as %s, %s and %s say.",
	imageURLVariable, imageChecksumVariable, proxmoxEndpointVariable, proxmoxTokenVariable, proxmoxInsecureVariable)

func newImageEnsureCommand() *cobra.Command {
	const short = "Let a host download an image unless it has it"
	return &cobra.Command{
		Use:     "ensure HOST VOLUME",
		Short:   short,
		Long:    short + ". A file of that name with another checksum is an error, and none is ever overwritten." + imageHelp,
		Example: "  em-infra image ensure vmhost local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst",
		Args:    cobra.ExactArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			connection, image, err := imageFromEnvironment(args[0], args[1])
			if err != nil {
				return refused(err)
			}
			if err := connection.EnsureImage(command.Context(), image); err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "%s: there\n", args[1])
			return nil
		},
	}
}

func newImageTemplateCommand() *cobra.Command {
	const short = "Make a template from a disk image unless it exists"
	return &cobra.Command{
		Use:     "template HOST VMID NAME STORAGE VOLUME",
		Short:   short,
		Long:    short + ": the host downloads the image to VOLUME, makes a template whose disk on STORAGE is a copy of it, and removes the file. Another guest of that VMID is an error." + imageHelp,
		Example: "  em-infra image template vmhost 9100 debian-13 local-zfs local:import/debian-13-9100.qcow2",
		Args:    cobra.ExactArgs(5),
		RunE: func(command *cobra.Command, args []string) error {
			connection, image, err := imageFromEnvironment(args[0], args[4])
			if err != nil {
				return refused(err)
			}
			vmid, err := strconv.Atoi(args[1])
			if err != nil {
				return refused(fmt.Errorf("%q is no VMID: give a number", args[1]))
			}
			made, err := connection.EnsureImageTemplate(command.Context(), pve.ImageTemplate{Image: image, VMID: vmid, Name: args[2], Storage: args[3]})
			if err != nil {
				return err
			}
			outcome := "there already"
			if made {
				outcome = "made"
			}
			fmt.Fprintf(command.OutOrStdout(), "template %s: %s\n", args[2], outcome)
			return nil
		},
	}
}

func newImageReleaseCommand() *cobra.Command {
	const short = "Delete a template that em-infra made from a disk image"
	return &cobra.Command{
		Use:     "release HOST VMID",
		Short:   short,
		Long:    fmt.Sprintf("%s. Proxmox VE is reached as %s, %s and %s say.", short, proxmoxEndpointVariable, proxmoxTokenVariable, proxmoxInsecureVariable),
		Example: "  em-infra image release vmhost 9100",
		Args:    cobra.ExactArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			connection, err := connectionFromEnvironment()
			if err != nil {
				return refused(err)
			}
			vmid, err := strconv.Atoi(args[1])
			if err != nil {
				return refused(fmt.Errorf("%q is no VMID: give a number", args[1]))
			}
			outcome, err := connection.ReleaseImageTemplate(command.Context(), args[0], vmid)
			if err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "VM %d: %s\n", vmid, outcome)
			return nil
		},
	}
}

func imageFromEnvironment(host, volume string) (pve.Connection, pve.Image, error) {
	connection, err := connectionFromEnvironment()
	if err != nil {
		return connection, pve.Image{}, err
	}
	location := os.Getenv(imageURLVariable)
	algorithm, checksum, found := strings.Cut(os.Getenv(imageChecksumVariable), ":")
	if location == "" || !found {
		return connection, pve.Image{}, errors.New(imageURLVariable + " is empty, or " + imageChecksumVariable + " is not ALGORITHM:HEX: put the URL and the checksum of the image there")
	}
	return connection, pve.Image{Host: host, Volume: volume, URL: location, Algorithm: algorithm, Checksum: checksum}, nil
}
