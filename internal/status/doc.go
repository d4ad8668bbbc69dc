// Package status tells what stands: what the state knows, what the host has and what the nodes say, side by side.
package status
