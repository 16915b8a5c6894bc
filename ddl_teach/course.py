"""The classroom has moved to `ddl_class`: this module only says so."""

raise ImportError(
    "ddl_teach.course is ddl_class now: write `from ddl_class import check` and the like. "
    "CHANGELOG.md says where every other name went."
)
