package main

import "github.com/spf13/cobra"

func newDoctor(c *cli) *cobra.Command { return &cobra.Command{Use: "doctor", Hidden: true} }
