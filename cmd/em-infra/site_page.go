package main

import (
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/lab"
)

func newSiteGraphCommand() *cobra.Command {
	var (
		place stackFlags
		out   string
	)
	command := &cobra.Command{
		Use:   "graph",
		Short: "Draw the site: hosts, what all stacks place on them, and storage",
		Long: `Draw all stacks of the project in one picture, as an SVG that follows the reader's choice of light or dark: for each host of Proxmox VE the
nodes of each cluster and the systems, below them its network, storages and mapped devices, and what clusters have on a NAS. Where a
cluster was brought up from here each node is asked whether it answers, and the picture shows that, too.`,
		Example: "  em-infra site graph --out site.svg\n  em-infra site graph --lab > rehearsal.svg",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			var picture operator.SitePicture
			if err := operator.EachStack(command.Context(), siteOptions(place, lab.Choices{}, streams), picture.Add); err != nil {
				return err
			}
			return deliver(picture.SVG(), out, streams.out)
		},
	}
	place.bindLab(command)
	bindPictureFile(command, &out)
	return command
}

func newSiteReportCommand() *cobra.Command {
	var (
		place stackFlags
		out   string
	)
	command := &cobra.Command{
		Use:   "report",
		Short: "Write what is known about the site as one HTML file",
		Long: `Write one HTML file with the status of each stack of the project, its last run and what to do, and the picture of the site. A stack that
cannot be asked is on the page with the reason. The file needs no network and no other file, follows the reader's choice of light or
dark, fits a phone, and contains no secret. It only reads. What else is known about a cluster is in its own report.`,
		Example: "  em-infra site report\n  em-infra site report --lab --out site.html",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			if place.lab {
				if err := operator.CheckRehearsed("", localLab(lab.Choices{}, streams.err)); err != nil {
					return err
				}
			}
			var report operator.SiteReport
			if err := operator.EachStack(command.Context(), siteOptions(place, lab.Choices{}, streams.aside()), report.Add); err != nil {
				return err
			}
			written, err := report.HTML()
			if err != nil {
				return err
			}
			return keepReport(written, out, report.File(), streams)
		},
	}
	place.bindLab(command)
	command.Flags().StringVar(&out, "out", "", "the file to write, - for standard output (default: artifacts/site.html, of a rehearsal .lab/site.html)")
	return command
}
