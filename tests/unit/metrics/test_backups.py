from __future__ import annotations

from kg_api.metrics import BackupGauges, exposition


def test_the_last_backup_is_told() -> None:
    text = exposition(BackupGauges(1_700_000_000.0, failed=True)).decode()
    assert "\nkg_backup_made_seconds 1.7e+09\n" in text
    assert "\nkg_backup_failed 1.0\n" in text


def test_where_there_was_none_nothing_is_told_that_looks_like_one() -> None:
    assert "kg_backup" not in exposition(BackupGauges(None, failed=None)).decode()
    assert "kg_backup_made" not in exposition(BackupGauges(None, failed=True)).decode()
