"""The classroom: what surrounds the lessons, from opening the notebooks to the doctor."""

from ddl_teach.course.exercises.check import check, judge
from ddl_teach.course.exercises.hints import hint
from ddl_teach.course.exercises.predictions import predict, reveal

__all__ = ["check", "hint", "judge", "predict", "reveal"]
