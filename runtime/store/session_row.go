package store

import "hermes.dev/hermes/runtime/store/db"

func (s Session) insertParams() db.InsertSessionParams {
	return db.InsertSessionParams{
		ID: s.ID, Source: s.Source, CreatedSource: nullText(s.CreatedSource), UserID: nullText(s.UserID),
		SessionKey: nullText(s.SessionKey), ChatID: nullText(s.ChatID), ChatType: nullText(s.ChatType),
		ThreadID: nullText(s.ThreadID), DisplayName: nullText(s.DisplayName), OriginJson: nullText(s.Origin),
		Model: nullText(s.Model), ModelConfig: nullText(s.ModelConfig), ParentSessionID: nullText(s.ParentID),
		StartedAt: epoch(s.StartedAt), Cwd: nullText(s.CWD), GitBranch: nullText(s.GitBranch),
		GitRepoRoot: nullText(s.GitRepoRoot), Title: nullText(s.Title), TitleSource: nullText(s.TitleSource),
		LastActivityAt: nullEpoch(s.LastActivityAt), ProfileName: nullText(s.ProfileName),
		TransportProfile: nullText(s.TransportProfile), ToolNames: nullText(s.ToolNames),
	}
}

func sessionFrom(row db.Session) Session {
	s := Session{
		ID: row.ID, Source: row.Source, CreatedSource: row.CreatedSource.String, SessionKey: row.SessionKey.String,
		UserID: row.UserID.String, ChatID: row.ChatID.String, ChatType: row.ChatType.String,
		ThreadID: row.ThreadID.String, DisplayName: row.DisplayName.String, Origin: row.OriginJson.String,
		ModelConfig: row.ModelConfig.String, Model: row.Model.String, ParentID: row.ParentSessionID.String,
		CWD: row.Cwd.String, GitBranch: row.GitBranch.String, GitRepoRoot: row.GitRepoRoot.String,
		Title: row.Title.String, TitleSource: row.TitleSource.String, ProfileName: row.ProfileName.String,
		TransportProfile: row.TransportProfile.String, ToolNames: row.ToolNames.String,
		StartedAt: fromEpoch(row.StartedAt), EndedAt: fromNullEpoch(row.EndedAt),
		LastActivityAt: fromNullEpoch(row.LastActivityAt), EndReason: row.EndReason.String,
		Archived: row.Archived.Int64 != 0, Pinned: row.Pinned.Int64 != 0, Hidden: row.Hidden.Int64 != 0,
		MessageCount: row.MessageCount.Int64, ToolCallCount: row.ToolCallCount.Int64,
		Usage: Usage{
			InputTokens: row.InputTokens.Int64, OutputTokens: row.OutputTokens.Int64,
			CacheReadTokens: row.CacheReadTokens.Int64, CacheWriteTokens: row.CacheWriteTokens.Int64,
			ReasoningTokens: row.ReasoningTokens.Int64, APICalls: row.ApiCallCount.Int64,
			EstimatedCostUSD: fromNullFloat(row.EstimatedCostUsd), ActualCostUSD: fromNullFloat(row.ActualCostUsd),
			BillingProvider: row.BillingProvider.String, BillingBaseURL: row.BillingBaseUrl.String,
			BillingMode: row.BillingMode.String,
		},
	}
	if s.LastActivityAt.IsZero() {
		s.LastActivityAt = s.StartedAt
	}
	return s
}
