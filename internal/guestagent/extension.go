// Package guestagent contains the names of QEMU's guest agent on Talos, which is an extension of the image.
package guestagent

import "slices"

// Extension is its name in the Image Factory.
const Extension = "siderolabs/qemu-guest-agent"

// Service is the name of its service in the Talos API (siderolabs/extensions, guest-agents/qemu-guest-agent/
// qemu-guest-agent.yaml; talos, pkg/machinery/extensions/services).
const Service = "ext-qemu-guest-agent"

// In reports whether an image with these extensions has the agent.
func In(extensions []string) bool { return slices.Contains(extensions, Extension) }
