// Package machineupdate knows what the provider does to a virtual machine or a container when its properties change: nothing that the
// guest sees, a reboot, a replacement, or a refusal. It is pure.
package machineupdate
