// Command reasons writes docs/reasons.md from the comments of
// api/v1alpha1/reasons.go, so that the page people look a reason up in never
// differs from the code. Run it from the top of the repository.
package main

import (
	"fmt"
	"os"
)

func main() {
	source, err := os.ReadFile("api/v1alpha1/reasons.go")
	if err == nil {
		var page string
		if page, err = Page(source); err == nil {
			err = os.WriteFile("docs/reasons.md", []byte(page), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
