// Package status compares what the state contains, what the host has and what the nodes report.
package status
