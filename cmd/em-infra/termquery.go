package main

import "github.com/em-infra/em-infra/internal/termquery"

func init() {
	if err := termquery.Restore(); err != nil {
		panic(err) // os.Unsetenv fails only for an invalid name
	}
}
